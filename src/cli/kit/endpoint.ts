/**
 * Opens the gateway that a front end uses: the running daemon, or a gateway in this process when none is running.
 */
import type { Endpoint } from '../../api/endpoint.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon, warnVersionMismatch } from './daemon.ts'
import { type EmbeddedPlatform, startEmbeddedGateway } from './embedded-gateway.ts'
import { readSettings } from './settings.ts'

/**
 * @param options.platform the console platform of the front end, which a gateway in this process serves
 * Throws the errors of `findRunningDaemon` and `startEmbeddedGateway`, such as `home/locked`.
 */
export async function openEndpoint(
  context: CliContext,
  { platform }: { readonly platform: EmbeddedPlatform },
): Promise<Endpoint> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon === undefined) return { ...(await startEmbeddedGateway(context, platform)), isDaemon: false }
  warnVersionMismatch(context, daemon)
  const { url, token, report } = daemon
  return {
    url,
    token,
    model: report.provider === 'demo' ? 'demo' : report.model,
    degraded: report.degraded,
    plugins: report.plugins,
    isDaemon: true,
    warnings: () => [],
    close: () => Promise.resolve(),
  }
}

/** The first signal aborts, for a graceful exit; the second one ends the process at once. */
export function interceptSignals(): { readonly signal: AbortSignal; remove(): void } {
  const stopRequested = new AbortController()
  const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
  const names = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
  const onSignal = (name: NodeJS.Signals) => {
    const known = names.find((signal) => signal === name)
    if (stopRequested.signal.aborted) process.exit(128 + (known === undefined ? 0 : numbers[known]))
    stopRequested.abort()
  }
  for (const name of names) process.on(name, onSignal)
  return {
    signal: stopRequested.signal,
    remove: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
