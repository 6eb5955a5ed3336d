/**
 * Runs a gateway in this process, for a front end on a home without a running daemon. It only serves the platform of the front
 * end, on a port of its own, and logs to the file.
 */
import { Console } from 'node:console'
import { pluginDirectories } from '../../app/plugin-directories.ts'
import { startGateway } from '../../gateway.ts'
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from './context.ts'
import { createEmbeddedLog } from './embedded-log.ts'
import { explainLock } from './home-lock.ts'
import { installProcessErrorHandlers } from './process-errors.ts'

/** `cli`: the terminal. `acp`: an editor. `batch`: prompts of a file. */
export type EmbeddedPlatform = 'cli' | 'acp' | 'batch'

/**
 * Throws the errors of a start, such as `home/locked` when another process uses this home.
 * @param others platforms that are connected too, as far as they are set up
 */
export async function startEmbeddedGateway(
  context: CliContext,
  platform: EmbeddedPlatform,
  others: readonly string[] = [],
) {
  const { home, version, environment, platformDirectories, program: commandLine } = context
  const log = createEmbeddedLog(context.errors, Date.now)
  const errorHandlers = installProcessErrorHandlers({
    source: process,
    exit: process.exit,
    print: async (error) => (await import('./safe-errors.ts')).printUncaught(error, context),
    pluginDirectories: pluginDirectories(home).map(({ path }) => path),
  })
  // Plugins run in this process, and stdout belongs to the answers.
  const ownConsole = globalThis.console
  globalThis.console = new Console({ stdout: context.errors, stderr: context.errors })
  const restoreProcess = () => {
    globalThis.console = ownConsole
    errorHandlers.uninstall()
  }
  const gateway = await startGateway({
    home,
    version,
    environment,
    platformDirectories,
    commandLine,
    onlyPlatforms: [platform, ...others],
    runAsPlugin: errorHandlers.runAsPlugin,
    log: { stream: { write: log.write }, pretty: false },
  }).catch((error: unknown) => {
    restoreProcess()
    throw explainLock(error, home)
  })
  const stop = async (force?: AbortSignal) => {
    await gateway.stop(force)
    restoreProcess()
  }
  // Stops at once: open work of other conversations continues when a daemon starts.
  const close = () => stop(AbortSignal.abort())
  errorHandlers.logTo(gateway.log)
  await gateway.initialConnectsDone()
  const { model, provider, degraded, plugins, platforms } = gateway.status()
  const served = platforms[platform]
  if (served?.state !== 'connected') {
    await close()
    throw new HermesError('platform/connect-failed', `(${platform}: ${served?.reason ?? 'not installed'})`)
  }
  return {
    url: gateway.url,
    token: gateway.token(),
    model: provider === 'demo' ? 'demo' : model,
    degraded,
    plugins,
    warnings: log.warnings,
    close,
    /** Stops when turns have ended and messages are sent, within the usual limits. */
    drain: () => stop(),
  }
}
