/**
 * Starts the services of a gateway in order, and stops them in the reverse order. Each stop is bounded: what cannot be stopped
 * must not keep the database and the lock of the home.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'

export interface StopRequest {
  /** A start follows. */
  readonly isRestart: boolean
  /** The time that running turns have, ms. */
  readonly graceMs: number
  /** The end of that time. */
  readonly until: number
  /** Ends the wait for turns. */
  readonly force?: AbortSignal | undefined
}

export interface Service {
  readonly name: string
  /** A gateway that a terminal embeds does not have it. */
  readonly daemonOnly?: boolean
  start?(): Promise<unknown> | unknown
  /** The configuration has changed. @param changed dotted paths */
  reconfigured?(changed: readonly string[]): void
  stop?(request: StopRequest): Promise<unknown> | unknown
  /** Services without a start, which stop at the same time. */
  readonly parts?: readonly Omit<Service, 'start'>[]
}

export interface Services {
  /** Starts them one after the other. A service whose start fails, and those before it, wait for `stop`. */
  start(services: readonly Service[]): Promise<void>
  reconfigured(changed: readonly string[]): void
  /** Stops what was started, each within its time. Never rejects: a failure is logged. May be called twice. */
  stop(request: StopRequest): Promise<void>
}

/** Most services limit their own work to less. */
const usualStopLimitMs = 30_000

/** @param stopLimitMs the time of a stop beyond that of running turns */
export function createServices(log: Logger, stopLimitMs = usualStopLimitMs): Services {
  const started: Service[] = []
  let stopped: Promise<void> | undefined

  async function stopOne({ name, parts, stop }: Service, request: StopRequest): Promise<void> {
    if (parts !== undefined) await Promise.all(parts.map((part) => stopOne(part, request)))
    try {
      const { done } = await withTimeout(Promise.resolve(stop?.(request)), request.graceMs + stopLimitMs)
      if (!done) throw new Error('it takes too long')
    } catch (error) {
      const problem = `a part of the gateway could not be stopped (${name}): ${messageOf(error)}`
      log.error({ event: 'gateway.stop_failed', service: name, err: error }, problem)
    }
  }

  async function stopAll(request: StopRequest): Promise<void> {
    for (const service of started.toReversed()) await stopOne(service, request)
  }

  return {
    async start(services) {
      for (const service of services) {
        started.push(service)
        await service.start?.()
      }
    },
    reconfigured(changed) {
      for (const service of started) for (const part of service.parts ?? [service]) part.reconfigured?.(changed)
    },
    stop(request) {
      stopped ??= stopAll(request)
      return stopped
    },
  }
}
