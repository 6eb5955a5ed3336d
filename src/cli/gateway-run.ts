/**
 * `hermes gateway run`: the daemon in the foreground, until a signal ends it.
 */
import { flushCompileCache } from 'node:module'
import { type Gateway, startGateway } from '../gateway.ts'
import type { CliContext } from './context.ts'

export interface GatewayRunOptions {
  readonly strict: boolean
}

/** Resolves when the daemon has stopped. Rejects when it could not start. */
export async function gatewayRun(context: CliContext, { strict }: GatewayRunOptions): Promise<void> {
  const stopping = Promise.withResolvers<void>()
  const signals = onSignals(stopping.resolve)
  try {
    const gateway = await startGateway({
      home: context.home,
      version: context.version,
      environment: context.environment,
      platformFolders: context.platformFolders,
      program: context.program,
      strict,
      log: { stream: context.errors, pretty: context.errors.isTTY },
      onShutdownRequest: stopping.resolve,
    })
    // On a clean exit alone Node would write it; a daemon may never have one.
    void gateway.settled().then(() => flushCompileCache())
    showAddress(context, gateway)
    await stopping.promise
    await gateway.stop()
  } finally {
    signals.remove()
  }
}

/** The address with the token goes to a terminal alone: a log or a pipe may be read by others. */
function showAddress({ output, home }: CliContext, gateway: Gateway): void {
  if (!output.isTTY) return
  const problems = gateway.config.state().degraded.map((reason) => `  ! ${reason}\n`)
  output.write(`\n  Open  ${gateway.url}/#token=${gateway.token()}\n  Home  ${home.root}\n${problems.join('')}  Stop  Ctrl-C\n\n`)
}

/** The first signal asks for a clean stop, the second ends the process at once. */
function onSignals(stop: () => void): { remove(): void } {
  let asked = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) process.exit(signal === 'SIGINT' ? 130 : 143)
    asked = true
    stop()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return {
    remove() {
      process.off('SIGTERM', onSignal)
      process.off('SIGINT', onSignal)
    },
  }
}
