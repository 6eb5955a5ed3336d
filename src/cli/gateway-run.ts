/**
 * `hermes gateway run`: runs the daemon in the foreground until a signal stops it.
 */
import { flushCompileCache } from 'node:module'
import type { Gateway } from '../gateway.ts'
import { removePidFile } from '../lib/pid-file.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { explainDaemonLock } from './kit/home-lock.ts'
import { processMemory, startMemoryRelease } from './kit/memory-release.ts'
import { installProcessErrorHandlers, type ProcessErrorHandlers } from './kit/process-errors.ts'
import { installSignalHandlers } from './kit/signals.ts'

export interface GatewayRunOptions {
  readonly strict: boolean
  readonly acceptHooks?: boolean
  /** Writes the log to its files only. */
  readonly quiet?: boolean
}

/** Resolves when the daemon has stopped. Throws when it cannot start. */
export async function gatewayRun(
  context: CliContext,
  { strict, acceptHooks = false, quiet = false }: GatewayRunOptions,
): Promise<void> {
  const { home } = context
  const stopping = Promise.withResolvers<void>()
  let isRestart = false
  const stop = () => {
    isRestart = false
    stopping.resolve()
  }
  const restart = () => {
    isRestart = true
    stopping.resolve()
  }
  let gateway: Gateway | undefined
  let errorHandlers: ProcessErrorHandlers | undefined
  let stopMemoryRelease: (() => void) | undefined
  const removeSignalHandlers = installSignalHandlers({
    source: process,
    onTerminal: context.output.isTTY === true,
    clock: Date.now,
    stop,
    exit(code) {
      if (gateway !== undefined) removePidFile(home, process.pid)
      process.exit(code)
    },
    reload: () => void gateway?.config.reload(),
    restart: () => void announceRestart(gateway).then(restart),
  })
  try {
    // Loaded after the handlers were installed, because a signal may arrive during the load.
    const [{ startGateway }, { pluginDirectories }] = await Promise.all([
      import('../gateway.ts'),
      import('../app/plugin-directories.ts'),
    ])
    errorHandlers = installProcessErrorHandlers({
      source: process,
      exit: process.exit,
      print: async (error) => (await import('./kit/safe-errors.ts')).printUncaught(error, context),
      pluginDirectories: pluginDirectories(home).map(({ path }) => path),
    })
    gateway = await startGateway({
      home,
      version: context.version,
      environment: context.environment,
      platformDirectories: context.platformDirectories,
      commandLine: context.program,
      strict,
      acceptHooks,
      log: { stream: quiet ? undefined : context.errors, pretty: context.errors.isTTY === true },
      runAsPlugin: errorHandlers.runAsPlugin,
      onShutdownRequest: stop,
      onRestartRequest: restart,
    }).catch((error: unknown) => {
      throw explainDaemonLock(error, home)
    })
    errorHandlers.logTo(gateway.log)
    // Node itself writes the cache only on a clean exit, which a daemon may never have.
    void gateway.initialConnectsDone().then(() => flushCompileCache())
    printWelcome(context, gateway)
    const memory = processMemory()
    stopMemoryRelease = memory === undefined ? undefined : startMemoryRelease(memory)
    await stopping.promise
    await gateway.stop(undefined, isRestart)
  } finally {
    stopMemoryRelease?.()
    errorHandlers?.uninstall()
    removeSignalHandlers()
  }
  // A stop that was requested meanwhile has precedence.
  if (isRestart) await replaceProcess(context)
}

/** Without a gateway, which is still starting, there is no one to tell. Never rejects: a full disk must not prevent a restart. */
async function announceRestart(gateway: Gateway | undefined): Promise<void> {
  try {
    await gateway?.announceRestart()
  } catch (error) {
    gateway?.log.warn({ event: 'gateway.restart_not_announced', err: error }, 'a restart could not be announced')
  }
}

async function replaceProcess(context: CliContext): Promise<void> {
  const { restartProcess } = await import('./kit/restart-process.ts')
  const { exitCode, reason } = restartProcess(process)
  context.errors.write(`hermes: start the gateway again: ${reason}\n`)
  context.exitCode = exitCode
}

/** The address with the token is only printed on a terminal, because others may read a log or a pipe. */
function printWelcome(context: CliContext, gateway: Gateway): void {
  const display = createDisplay(context.output, context.environment)
  const { provider, model, degraded } = gateway.status()
  const isDemo = provider === 'demo'
  if (isDemo)
    gateway.log.warn(
      { event: 'model.demonstration' },
      'no model is configured: the offline demonstration answers; set OPENAI_API_KEY or ANTHROPIC_API_KEY, and `model`',
    )
  if (context.output.isTTY !== true) {
    display.line(
      `hermes-gateway ${context.version} is ready at ${gateway.url}; \`hermes web url\` prints the address of the page.`,
    )
    return
  }
  display.line()
  display.line(`  ${display.tone('good', `hermes-gateway ${context.version} is ready.`)}`)
  display.line()
  display.line(`  Open   ${display.tone('strong', `${gateway.url}/#token=${gateway.token()}`)}`)
  display.line(`  Model  ${isDemo ? 'none (offline demonstration)' : `${toSingleLine(model)} (${provider})`}`)
  display.line(`  Home   ${context.home.root}`)
  for (const reason of degraded) display.line(`  ${display.tone('warn', `! ${toSingleLine(reason)}`)}`)
  display.line()
  if (degraded.length > 0) display.line('  Next: fix the problems marked with !; `hermes doctor` checks everything.')
  else if (isDemo) {
    display.line('  Next: open the page and say hello. To connect a model, add OPENAI_API_KEY or ANTHROPIC_API_KEY to')
    display.line(`  ${context.home.envFile} and \`model: <its name>\` to ${context.home.configFile}.`)
  }
  display.line('  Stop   Ctrl-C')
  display.line()
}
