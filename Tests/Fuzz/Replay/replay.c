// Hands each file of the folders that it is given to a fuzz target, in the place of libFuzzer.
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *path) {
    perror(what);
    fprintf(stderr, "while reading %s\n", path);
    exit(2);
}

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("fopen", path);
    if (fseek(file, 0, SEEK_END)) fail("fseek", path);
    long size = ftell(file);
    if (size < 0) fail("ftell", path);
    rewind(file);
    // Exactly as long as the input, so that the sanitizer sees the first byte behind it.
    uint8_t *bytes = malloc(size ? (size_t)size : 1);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) fail("fread", path);
    fclose(file);
    // Should it end the program, this is the last line.
    fprintf(stderr, "input %s\n", path);
    LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
}

static int run(int count, char **words) {
    int inputs = 0;
    for (int index = 1; index < count; index++) {
        DIR *folder = opendir(words[index]);
        if (!folder) fail("opendir", words[index]);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (entry->d_name[0] == '.') continue;
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", words[index], entry->d_name);
            replay(path);
            inputs++;
        }
        closedir(folder);
    }
    printf("%d inputs\n", inputs);
    return inputs ? 0 : 1;
}

// The package manager calls the entry of a program for debugging after its module.
#define ENTRY(module)                                                                                                   \
    int fuzz_##module##_main(int count, char **words) { return run(count, words); }

ENTRY(http_request)
ENTRY(http_response)
ENTRY(event_stream)
ENTRY(websocket_server)
ENTRY(websocket_client)
ENTRY(extension_header)
ENTRY(json)
ENTRY(mapping)
ENTRY(settings)
ENTRY(cursor)
ENTRY(proxy_header)
ENTRY(forwarded_header)
ENTRY(token)
ENTRY(key_set)
ENTRY(introspection)
ENTRY(control_record)
ENTRY(credential)
ENTRY(ticket)
