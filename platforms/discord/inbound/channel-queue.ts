/**
 * What comes in, in order: one queue for each channel, in which the first stays until it is on disk. Discord hands out an
 * event once and asks for no receipt, so the memory of this process is all there is until then.
 */
import { backoffMs, type Logger, messageOf, sleep } from '#sdk'

export interface ChannelQueue {
  /** Adds something to do for a channel. It is done again, with growing pauses, as long as it rejects. */
  push(channel: string, job: () => Promise<void>): void
  /** Resolves when nothing is left to do for the channel. */
  idle(channel: string): Promise<void>
}

export interface ChannelQueueDeps {
  readonly log: Logger
  readonly random: () => number
  readonly signal: AbortSignal
  /** More was pushed than is kept in memory; called once there is room again. */
  onOverflow(channel: string): void
  /** So many jobs wait for one channel. */
  readonly maxJobs?: number
}

interface ChannelJobs {
  readonly jobs: (() => Promise<void>)[]
  overflow: boolean
  done: Promise<void>
}

const minBackoffMs = 200
const maxBackoffMs = 10_000

export function createChannelQueue({
  log,
  random,
  signal,
  onOverflow,
  maxJobs: limit = 1_000,
}: ChannelQueueDeps): ChannelQueue {
  const queues = new Map<string, ChannelJobs>()

  return {
    push(channel, job) {
      if (signal.aborted) return
      const queue = queues.get(channel)
      if (queue === undefined) {
        const fresh: ChannelJobs = { jobs: [job], overflow: false, done: Promise.resolve() }
        queues.set(channel, fresh)
        fresh.done = work(channel, fresh)
      } else if (queue.jobs.length < limit) queue.jobs.push(job)
      else {
        if (!queue.overflow) log.warn({ channel, limit }, 'too many messages wait to be stored; they are fetched later')
        queue.overflow = true
      }
    },
    idle: async (channel) => queues.get(channel)?.done,
  }

  /** Never rejects. */
  async function work(channel: string, queue: ChannelJobs): Promise<void> {
    for (let job = queue.jobs[0]; job !== undefined && !signal.aborted; job = queue.jobs[0]) {
      await retryUntilDone(channel, job)
      queue.jobs.shift()
    }
    queues.delete(channel)
    if (queue.overflow && !signal.aborted) onOverflow(channel)
  }

  async function retryUntilDone(channel: string, job: () => Promise<void>): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await job()
        return
      } catch (error) {
        if (signal.aborted) return
        const pauseMs = backoffMs(attempt, minBackoffMs, maxBackoffMs, random)
        log.warn(
          { channel, attempt, pauseMs, reason: messageOf(error) },
          'an event of Discord was not stored, trying again',
        )
        await sleep(pauseMs, signal)
      }
    }
  }
}
