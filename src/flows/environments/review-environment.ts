/**
 * Tells the owner whether the environment of `terminal.backend` can be reached. Imported when that is not this machine.
 */

import type { AgentConfig } from '../../agent/config.ts'
import { sleep } from '../../lib/timers.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { RemoteEnvironments } from './remote-environments.ts'

/** An environment that cannot be reached is tried again after this time. */
const retryMs = 30_000
const checkTimeoutMs = 20_000

interface ReviewGateway extends Pick<Runtime, 'stopping' | 'log'> {
  readonly settings: () => Pick<AgentConfig, 'terminal'>
}

/**
 * Resolves when the environment was reached, or when the configuration or the gateway has ended the review. Never rejects.
 * @param report its `environment` says what is wrong, for the status; '' if nothing is known to be
 */
export async function reviewEnvironment(
  { settings, stopping, log }: ReviewGateway,
  openEnvironments: () => Promise<RemoteEnvironments | undefined>,
  report: { environment: string },
): Promise<void> {
  const { terminal } = settings()
  const isCurrent = () => settings().terminal === terminal && !stopping.aborted
  try {
    const environments = await openEnvironments()
    if (environments === undefined) {
      if (isCurrent()) report.environment = describeUnknownPlace(terminal.backend)
      return
    }
    while (isCurrent()) {
      const check = await environments.check(AbortSignal.any([stopping, AbortSignal.timeout(checkTimeoutMs)]))
      if (!isCurrent()) return
      report.environment = check.ok
        ? ''
        : `terminal.backend: ${terminal.backend}: ${check.detail} (${check.code}). ${check.hint}`
      if (check.ok) return log.info({ event: 'environment.reachable', backend: terminal.backend }, check.detail)
      log.warn({ event: 'environment.unreachable', backend: terminal.backend, code: check.code }, check.detail)
      await sleep(retryMs, stopping)
    }
  } catch (error) {
    log.error({ event: 'environment.check_failed', err: error }, 'the environment of commands could not be checked')
  }
}

/** For a name that neither the gateway nor a plugin offers. */
export function describeUnknownPlace(backend: string): string {
  return `terminal.backend: no enabled plugin offers ${backend}; the model has no terminal and no file tools`
}
