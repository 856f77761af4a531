#ifndef LIVEGATE_CLINUX_H
#define LIVEGATE_CLINUX_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "Environment.h"
#include "GetOption.h"
#include "Polling.h"
#include "Process.h"
#include "Sockets.h"
#include "Terminal.h"

#endif
