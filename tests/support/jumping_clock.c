// For LD_PRELOAD: a wall clock that somebody sets, by years and both ways, between any two looks at
// it. What passes by other clocks is left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static const time_t year = 31557600;

static time_t set_by(void) {
  static unsigned looks = 0;
  // Three years ahead, now, three back, and between: no two looks one after the other agree.
  return ((time_t)(__atomic_fetch_add(&looks, 5, __ATOMIC_RELAXED) % 7) - 3) * year;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*) = NULL;
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int status = real(clock, now);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += set_by();
  return status;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  const int status = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return status;
}

time_t time(time_t* now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
