/**
 * `hermes gateway run`: the daemon in the foreground, until a signal ends it.
 */
import { flushCompileCache } from 'node:module'
import { withdrawDaemon } from '../gateway/lifecycle.ts'
import type { Gateway } from '../gateway.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { CliContext } from './context.ts'
import { createDisplay, oneLine } from './display.ts'
import { explainedDaemon } from './home-lock.ts'
import { followSignals } from './signals.ts'

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
  const unfollow = followSignals({
    source: process,
    onTerminal: context.output.isTTY === true,
    clock: Date.now,
    stop: stopping.resolve,
    exit(code) {
      if (gateway !== undefined) withdrawDaemon(home, process.pid)
      process.exit(code)
    },
    reload: () => void gateway?.config.reload(),
  })
  try {
    // After the handlers, because loading takes a while and a stop may come meanwhile.
    const { startGateway } = await import('../gateway.ts')
    gateway = await startGateway({
      home,
      version: context.version,
      environment: context.environment,
      platformFolders: context.platformFolders,
      program: context.program,
      strict,
      acceptHooks,
      log: { stream: context.errors, pretty: context.errors.isTTY === true },
      onShutdownRequest: stopping.resolve,
    }).catch((error: unknown) => {
      throw explainedDaemon(error, home)
    })
    const uncover = coverFaults(gateway.log)
    // On a clean exit alone Node would write it; a daemon may never have one.
    void gateway.settled().then(() => flushCompileCache())
    welcome(context, gateway)
    await stopping.promise
    await gateway.stop()
    uncover()
  } finally {
    unfollow()
  }
}

/** The address with the token goes to a terminal alone: a log or a pipe may be read by others. */
function welcome(context: CliContext, gateway: Gateway): void {
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
  display.line(`  Model  ${isDemo ? 'none yet: an offline demonstration answers' : `${oneLine(model)} (${provider})`}`)
  display.line(`  Home   ${context.home.root}`)
  for (const reason of degraded) display.line(`  ${display.tone('warn', `! ${oneLine(reason)}`)}`)
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

/**
 * Faults that nobody caught, so that they reach the log, without secrets. A rejection harms only the work it belongs to;
 * after an exception nothing is certain, and a new start goes on where the database stands.
 */
function coverFaults(log: Logger): () => void {
  const onRejection = (reason: unknown) => {
    log.error({ err: reason }, `a fault that nobody handled: ${messageOf(reason)}`)
  }
  const onException = (error: unknown) => {
    log.error({ err: error }, `a fault that nobody caught; the process ends: ${messageOf(error)}`)
    process.exit(1)
  }
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}
