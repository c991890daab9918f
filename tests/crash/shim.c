/* A shim between SQLite and the disk (LD_PRELOAD). It records the calls on the database's files and the sends to
 * clients, in order, and fails or delays calls, or kills the process, as a board in shared memory orders.
 *
 * CRASH_DIRECTORY  where the databases are: *.db, with their WALs and journals
 * CRASH_BOARD      the board: a struct board, which the test maps
 * CRASH_JOURNAL    the file with the recorded calls
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE = 1, SYNC, TRUNCATE, UNLINK, SEND, LOST };
enum { DATABASE = 1, WAL = 2, JOURNAL = 4 };
enum { FAIL = 1, DIE_BEFORE, DIE_AFTER, DELAY };

struct board {
    int32_t action; /* FAIL, ... or 0 for nothing; the other fields select the calls */
    int32_t call;   /* WRITE, SYNC, ... */
    int32_t files;  /* a sum of DATABASE, WAL, JOURNAL */
    int32_t skip;   /* number of calls that pass first */
    int32_t count;  /* number of calls to hit after that */
    int32_t value;  /* an errno, or microseconds */
    int32_t hits;   /* number of calls hit so far */
};

struct record {
    uint32_t call;
    uint32_t where; /* a file, or the descriptor of a socket */
    uint64_t offset;
    uint64_t length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct board *board;
static const char *directory;
static int journal = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static ssize_t (*real_send)(int, const void *, size_t, int);

__attribute__((constructor)) static void begin(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_send = dlsym(RTLD_NEXT, "send");
    directory = getenv("CRASH_DIRECTORY");
    const char *path = getenv("CRASH_BOARD");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (!directory || file < 0)
        abort();
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED)
        abort();
    close(file);
    path = getenv("CRASH_JOURNAL");
    journal = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (journal < 0)
        abort();
}

static int ends(const char *path, const char *suffix) {
    size_t length = strlen(path), own = strlen(suffix);
    return length >= own && !strcmp(path + length - own, suffix);
}

static int which(const char *path) {
    if (strncmp(path, directory, strlen(directory)))
        return 0;
    if (strstr(path, "search.db")) return 0; /* the index of what was said: it is made again from the log */
    return ends(path, ".db") ? DATABASE : ends(path, ".db-wal") ? WAL : ends(path, ".db-journal") ? JOURNAL : 0;
}

static int which_open(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return which(path);
}

static void note(uint32_t call, uint32_t where, uint64_t offset, uint64_t length, const void *data) {
    struct record record = {call, where, offset, length};
    if (real_write(journal, &record, sizeof record) != sizeof record)
        abort();
    if (data && real_write(journal, data, length) != (ssize_t)length)
        abort();
}

/* Returns whether the board selects this call, and counts it. */
static int meant(int call, int file) {
    if (!board->action || board->call != call || !(board->files & file))
        return 0;
    if (board->skip > 0) {
        board->skip--;
        return 0;
    }
    if (board->hits >= board->count)
        return 0;
    board->hits++;
    return board->action;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Makes a call on a file of the database as the board orders, and records it. */
#define DISK(CALL, FILE, OFFSET, LENGTH, DATA, RESULT, DONE)          \
    do {                                                              \
        int saved = errno, file = (FILE);                             \
        errno = saved;                                                \
        if (!file)                                                    \
            return (RESULT);                                          \
        pthread_mutex_lock(&lock);                                    \
        int order = meant(CALL, file), wait = board->value;           \
        if (order == DIE_BEFORE)                                      \
            die();                                                    \
        if (order == DELAY) {                                         \
            pthread_mutex_unlock(&lock);                              \
            usleep(wait);                                             \
            pthread_mutex_lock(&lock);                                \
        }                                                             \
        __typeof__(RESULT) result = -1;                               \
        if (order == FAIL)                                            \
            errno = wait;                                             \
        else                                                          \
            result = (RESULT);                                        \
        saved = errno;                                                \
        if (DONE)                                                     \
            note(CALL, file, OFFSET, LENGTH, DATA);                   \
        else if (CALL == SYNC)                                        \
            note(LOST, file, 0, 0, NULL);                             \
        if (order == DIE_AFTER)                                       \
            die();                                                    \
        pthread_mutex_unlock(&lock);                                  \
        errno = saved;                                                \
        return result;                                                \
    } while (0)

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    DISK(WRITE, which_open(fd), offset, result, data, real_pwrite(fd, data, length, offset), result > 0);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

int fsync(int fd) { DISK(SYNC, which_open(fd), 0, 0, NULL, real_fsync(fd), !result); }

int fdatasync(int fd) { DISK(SYNC, which_open(fd), 0, 0, NULL, real_fdatasync(fd), !result); }

int ftruncate64(int fd, off64_t length) {
    DISK(TRUNCATE, which_open(fd), length, 0, NULL, real_ftruncate(fd, length), !result);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int unlink(const char *path) { DISK(UNLINK, which(path), 0, 0, NULL, real_unlink(path), !result); }

/* The daemon's sockets do not block, so no other record comes between a send and its own. */
ssize_t send(int fd, const void *data, size_t length, int flags) {
    pthread_mutex_lock(&lock);
    ssize_t result = real_send(fd, data, length, flags);
    int saved = errno;
    if (result > 1) /* a send of one byte only wakes an event loop */
        note(SEND, fd, 0, result, data);
    pthread_mutex_unlock(&lock);
    errno = saved;
    return result;
}
