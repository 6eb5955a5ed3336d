/**
 * `hermes gateway run`: the daemon in the foreground, until a signal ends it.
 */
import { flushCompileCache } from 'node:module'
import { removePidFile } from '../app/pid-file.ts'
import type { Gateway } from '../gateway.ts'
import type { CliContext } from './context.ts'
import { createDisplay, toSingleLine } from './display.ts'
import { explainDaemonLock } from './home-lock.ts'
import { installProcessErrorHandlers, type ProcessErrorHandlers } from './process-errors.ts'
import { installSignalHandlers } from './signals.ts'

export interface GatewayRunOptions {
  readonly strict: boolean
  readonly acceptHooks?: boolean
}

/** Resolves when the daemon has stopped. Throws when it could not start. */
export async function gatewayRun(
  context: CliContext,
  { strict, acceptHooks = false }: GatewayRunOptions,
): Promise<void> {
  const { home } = context
  const stopping = Promise.withResolvers<void>()
  let gateway: Gateway | undefined
  let errorHandlers: ProcessErrorHandlers | undefined
  const removeSignalHandlers = installSignalHandlers({
    source: process,
    onTerminal: context.output.isTTY === true,
    clock: Date.now,
    stop: stopping.resolve,
    exit(code) {
      if (gateway !== undefined) removePidFile(home, process.pid)
      process.exit(code)
    },
    reload: () => void gateway?.config.reload(),
  })
  try {
    // After the handlers, because loading takes a while and a stop may come meanwhile.
    const [{ startGateway }, { pluginDirectories }] = await Promise.all([
      import('../gateway.ts'),
      import('../app/compose-plugins.ts'),
    ])
    errorHandlers = installProcessErrorHandlers({
      source: process,
      exit: process.exit,
      errors: context.errors,
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
      log: { stream: context.errors, pretty: context.errors.isTTY === true },
      runAsPlugin: errorHandlers.runAsPlugin,
      onShutdownRequest: stopping.resolve,
    }).catch((error: unknown) => {
      throw explainDaemonLock(error, home)
    })
    errorHandlers.logTo(gateway.log)
    // On a clean exit alone Node would write it; a daemon may never have one.
    void gateway.initialConnectsDone().then(() => flushCompileCache())
    printWelcome(context, gateway)
    await stopping.promise
    await gateway.stop()
  } finally {
    errorHandlers?.uninstall()
    removeSignalHandlers()
  }
}

/** The address with the token goes to a terminal alone: a log or a pipe may be read by others. */
function printWelcome(context: CliContext, gateway: Gateway): void {
  const display = createDisplay(context.output, context.environment)
  if (context.output.isTTY !== true) {
    display.line(
      `hermes-gateway ${context.version} is ready at ${gateway.url}; \`hermes web url\` prints the address of the page.`,
    )
    return
  }
  const { provider, model, degraded } = gateway.status()
  const isDemo = provider === 'demo'
  display.line()
  display.line(`  ${display.tone('good', `hermes-gateway ${context.version} is ready.`)}`)
  display.line()
  display.line(`  Open   ${display.tone('strong', `${gateway.url}/#token=${gateway.token()}`)}`)
  display.line(
    `  Model  ${isDemo ? 'none yet: an offline demonstration answers' : `${toSingleLine(model)} (${provider})`}`,
  )
  display.line(`  Home   ${context.home.root}`)
  for (const reason of degraded) display.line(`  ${display.tone('warn', `! ${toSingleLine(reason)}`)}`)
  display.line()
  if (degraded.length > 0) display.line('  First: mend what is marked with !; `hermes doctor` checks everything.')
  else if (isDemo) {
    display.line(
      '  First: open the page and say hello. To connect a model, put OPENAI_API_KEY or ANTHROPIC_API_KEY into',
    )
    display.line(`  ${context.home.envFile} and \`model: <its name>\` into ${context.home.configFile}.`)
  }
  display.line('  Stop   Ctrl-C')
  display.line()
}
