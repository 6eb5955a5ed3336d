/**
 * One queue of inbound events for each channel. A job is retried until its event is stored: Discord sends an event once and
 * without acknowledgement, so until then it exists only in the memory of this process.
 */
import { backoffMs, type Logger, messageOf, sleep } from '#sdk'

export interface ChannelQueue {
  /** Adds a job for a channel. A job that rejects is repeated after growing pauses. */
  push(channel: string, job: () => Promise<void>): void
  /** Whether jobs of the channel run or wait. */
  isBusy(channel: string): boolean
  /** Resolves when the queue of the channel is empty. */
  idle(channel: string): Promise<void>
}

interface ChannelJobs {
  readonly jobs: (() => Promise<void>)[]
  overflow: boolean
  done: Promise<void>
}

const minBackoffMs = 200
const maxBackoffMs = 10_000

/**
 * @param onOverflow called when a queue is empty again of which jobs were dropped because it was full
 * @param limit of one queue
 */
export function createChannelQueue(
  log: Logger,
  signal: AbortSignal,
  onOverflow: (channel: string) => void,
  limit = 1_000,
): ChannelQueue {
  const queues = new Map<string, ChannelJobs>()

  return {
    push(channel, job) {
      if (signal.aborted) return
      const queue = queues.get(channel)
      if (queue === undefined) {
        const fresh: ChannelJobs = { jobs: [job], overflow: false, done: Promise.resolve() }
        queues.set(channel, fresh)
        fresh.done = work(channel, fresh)
      } else if (!queue.overflow && queue.jobs.length < limit) queue.jobs.push(job)
      else {
        // Jobs after a dropped one are dropped too: they would move the cursor past it.
        if (!queue.overflow) {
          log.warn(
            { event: 'discord.queue_full', channel, limit },
            'too many events wait to be stored; messages are fetched later',
          )
        }
        queue.overflow = true
      }
    },
    isBusy: (channel) => queues.has(channel),
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
        const pauseMs = backoffMs(attempt, minBackoffMs, maxBackoffMs, Math.random)
        log.warn(
          { event: 'discord.event_not_stored', channel, attempt, pauseMs, reason: messageOf(error) },
          'event could not be stored; trying again',
        )
        await sleep(pauseMs, signal)
      }
    }
  }
}
