#ifndef LIVEGATE_CLINUX_H
#define LIVEGATE_CLINUX_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "Files.h"
#include "Polling.h"
#include "Process.h"
#include "Sockets.h"

#endif
