/**
 * The composition root: builds every module once, connects them, and lists the services that it starts and stops.
 */
import { existsSync } from 'node:fs'
import { type AgentRuntime, composeAgent } from './app/compose-agent.ts'
import { type CommandRuntime, composeCommandRegistry, composeCommandRuntime } from './app/compose-commands.ts'
import { composeCore } from './app/compose-core.ts'
import type { AppContext } from './app/context.ts'
import type { Core } from './app/core.ts'
import { composeEndpoints, type Endpoints } from './app/endpoints.ts'
import { createLifecycle, gatewayMode, type LifecycleControl } from './app/gateway-state.ts'
import { type Infrastructure, openInfrastructure } from './app/infrastructure.ts'
import type { Gateway, GatewayOptions } from './app/options.ts'
import { createServices, type Service, type Services } from './app/services.ts'
import { createAccountDirectory } from './flows/access/account-directory.ts'
import { createCommandMenus } from './flows/commands/command-menus.ts'
import { createExtensionWatcher, type ExtensionWatcher } from './flows/lifecycle/extension-watcher.ts'
import { hungCallsWarnings, pauseWarnings } from './flows/lifecycle/problems.ts'
import { closeAttempts, hasRestartRequest, recover } from './flows/lifecycle/recovery.ts'
import { connectedPlatforms, isSandboxLikely } from './flows/lifecycle/status.ts'
import { prepareHome } from './lib/home.ts'
import { removePidFile, writePidFile } from './lib/pid-file.ts'
import { readProfileFacts } from './lib/profile-facts.ts'
import { sleep } from './lib/timers.ts'
import { readPause } from './sessions/pause-file.ts'
import { type HomeLock, lockHome } from './store/sqlite/lock.ts'

export type { Gateway, GatewayOptions } from './app/options.ts'

/** Time for hooks at the end, ms, also when turns have used up the time of the drain. */
const shutdownHooksTimeoutMs = 1_000
const maxOutboxDrainMs = 5_000

/** Starts a gateway. Rejects `home/...`, `store/...`, `http/...` or `config/...`, and closes what it had opened. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  prepareHome(options.home)
  const lock = lockHome(options.home.lockFile)
  const infrastructure = await openInfrastructure(options).catch((error: unknown) => {
    lock.release()
    throw error
  })
  const services = createServices(infrastructure.log)
  try {
    await services.start(openedServices(options, lock, infrastructure))
    const parts = build(options, infrastructure)
    const { staysUp } = parts.context.mode
    await services.start(gatewayServices(parts, services).filter(({ daemonOnly }) => staysUp || daemonOnly !== true))
    return gatewayOf(parts, services)
  } catch (error) {
    await services.stop({ isRestart: false, graceMs: 0, until: 0 })
    throw error
  }
}

interface Parts {
  readonly lifecycle: LifecycleControl
  readonly context: AppContext
  readonly core: Core
  readonly agentRuntime: AgentRuntime
  readonly runCommand: CommandRuntime['runCommand']
  readonly endpoints: Endpoints
  readonly extensionWatcher: ExtensionWatcher
}

// Build: the modules on the route of a message, what runs their queues, the endpoints

function build(options: GatewayOptions, infrastructure: Infrastructure): Parts {
  const { clock, log, secrets, config, catalogue, store, problems, paired } = infrastructure
  const lifecycle = createLifecycle(clock)
  const mode = gatewayMode(options)
  const accountDirectory = createAccountDirectory({
    catalogue,
    settings: config.current,
    unusableSettings: config.unusableSettings,
    usesDefaultsAfterFailure: () => config.state().source === 'defaults' && config.state().problems.length > 0,
    log,
    profile: readProfileFacts(options.home).sessionNamespace,
    serves: mode.serves,
    clock,
    paired,
  })
  const platforms: AppContext['platforms'] = {
    catalogue,
    adapter: accountDirectory.adapter,
    failAccount: (platform, account, reason) => endpoints.supervisor.failAccount(platform, account, reason),
    health: () => endpoints.supervisor.health(),
  }
  const context: AppContext = {
    options,
    home: options.home,
    mode,
    config,
    settings: config.current,
    secrets,
    accountDirectory,
    platforms,
    store,
    lifecycle,
    stopping: lifecycle.stopping,
    problems,
    clock,
    random: Math.random,
    log,
    failpoint: options.failpoint,
  }
  const commands = composeCommandRegistry(context, () => commandRuntime.gateway)
  const core = composeCore(context, commands, {
    auxiliary: (task) => agentRuntime.agentServices.models.auxiliary(task),
    sandbox: () => agentRuntime.agentServices.environments.sandbox(),
  })
  const agentRuntime = composeAgent(context, core, (...call) => commandRuntime.runAgentCommand(...call))
  const commandRuntime = composeCommandRuntime(context, core, agentRuntime)
  const { plugins } = agentRuntime
  const extensionWatcher = createExtensionWatcher(options.home, plugins.sync, log)
  const endpoints = composeEndpoints(commandRuntime.gateway, extensionWatcher.changedPlatforms)
  problems.add(
    () => pauseWarnings(core.runningTurns.paused()),
    plugins.memoryProblems,
    agentRuntime.agentCheck.problems,
    agentRuntime.skills.problems,
    agentRuntime.cron.problems,
    () => hungCallsWarnings(core.modelCalls.blockingCalls()),
  )
  return { lifecycle, context, core, agentRuntime, runCommand: commandRuntime.runCommand, endpoints, extensionWatcher }
}

function gatewayOf({ context, core, agentRuntime, endpoints }: Parts, services: Services): Gateway {
  const { config, settings, clock, log } = context
  return {
    url: endpoints.url(),
    token: endpoints.token,
    config,
    log,
    status: endpoints.status,
    initialConnectsDone: endpoints.supervisor.initialConnectsDone,
    plugins: agentRuntime.plugins.list,
    async pluginsLoaded() {
      await core.pluginRegistries.loading?.done
    },
    stop(force, isRestart = false) {
      const { drain_timeout, restart_drain_timeout } = settings().agent
      const graceMs = (isRestart ? (restart_drain_timeout ?? drain_timeout) : drain_timeout) * 1_000
      return services.stop({ isRestart, graceMs, until: clock() + graceMs, force })
    },
    announceRestart: async () => (await import('./flows/lifecycle/restart.ts')).requestRestart(context, core.outbox),
  }
}

// The services, in the order in which they start. They stop in the reverse order.

/** What is open before anything is built. */
function openedServices(options: GatewayOptions, lock: HomeLock, infrastructure: Infrastructure): readonly Service[] {
  const { home } = options
  const { config, store, log } = infrastructure
  return [
    {
      name: 'log',
      reconfigured: () => log.setLevel(options.log.level ?? config.current().log.level),
      stop() {
        log.info({ event: 'gateway.stopped' }, 'stopped')
        log.close()
      },
    },
    { name: 'lock of the home', stop: lock.release },
    { name: 'pid file', stop: () => removePidFile(home, process.pid) },
    { name: 'database', stop: store.close },
  ]
}

function gatewayServices(parts: Parts, services: Services): readonly Service[] {
  return [...replyServices(parts), ...messageServices(parts), ...backgroundServices(parts, services)]
}

/** What the composition has opened. It serves the last replies, so it stops last. */
function replyServices({ context, core, agentRuntime, endpoints }: Parts): readonly Service[] {
  const { hooks, outbox } = core
  const { agentServices, mcp, cron } = agentRuntime
  return [
    {
      name: 'what the turns use',
      parts: [
        { name: 'http', stop: endpoints.http.stop },
        { name: 'configuration', stop: context.config.stop },
        { name: 'agent', reconfigured: agentServices.reconfigured, stop: agentServices.close },
        { name: 'titles', stop: agentRuntime.titlesIdle },
        { name: 'mcp servers', reconfigured: mcp.reconfigured, stop: mcp.close },
        { name: 'scheduled jobs', stop: cron.stop },
      ],
    },
    { name: 'platforms', stop: endpoints.supervisor.stop },
    {
      name: 'hook processes',
      reconfigured: hooks.applyConfig,
      async stop({ force }) {
        await hooks.waitUntilIdle(shutdownHooksTimeoutMs, force)
        await hooks.stop(0)
      },
    },
    {
      name: 'outbox',
      stop: ({ isRestart, graceMs }) => outbox.stop(isRestart ? maxOutboxDrainMs : Math.min(graceMs, maxOutboxDrainMs)),
    },
  ]
}

/** From the first plugin to the first message. */
function messageServices({ lifecycle, context, core, agentRuntime, runCommand, endpoints }: Parts): readonly Service[] {
  const { options, mode, store, clock, log, failpoint } = context
  const { engine, hooks, events, backgroundTasks, pluginRegistries } = core
  const { agentServices, plugins, runTurn } = agentRuntime
  const { home } = options

  return [
    {
      name: 'stored key values',
      daemonOnly: true,
      async start() {
        if (!existsSync(home.authFile)) return
        await (await import('./agent/models/credentials/shared-auth-file.ts')).replaceStoredValues(home.authFile, log)
      },
    },
    {
      name: 'plugins',
      start: mode.staysUp ? plugins.start : () => plugins.sync(),
      reconfigured: plugins.reconfigured,
      async stop() {
        if (pluginRegistries.gatewayHooks.hasPreDispatchHooks()) lifecycle.refuseMessages()
        // `force` does not shorten it: plugins are notified of the end of interrupted turns (seed 001).
        await plugins.stop(shutdownHooksTimeoutMs)
      },
    },
    {
      name: 'hooks',
      // After the plugins: the discovery of hooks reads the list of commands. Before the recovery, which emits events.
      start: hooks.discoverAndLoad,
      // Before the outbox stops, so that messages of shutdown hooks are sent.
      stop: ({ until, force }) => hooks.waitUntilIdle(Math.max(until - clock(), shutdownHooksTimeoutMs), force),
    },
    {
      name: 'recovery',
      start: () =>
        recover(context, core, async () => {
          if (mode.staysUp) await backgroundTasks.recover()
          await agentServices.environments.reportLostCommands()
        }),
    },
    {
      name: 'report of a restart',
      daemonOnly: true,
      async start() {
        if (!(await store.run(hasRestartRequest))) return
        await (await import('./flows/lifecycle/restart.ts')).reportRestart(context, core.outbox, core.turnNotices)
      },
    },
    { name: 'http listener', start: endpoints.listen },
    metricsService({ context, core, endpoints }),
    {
      name: 'address of the daemon',
      daemonOnly: true,
      start: () => writePidFile(home, { pid: process.pid, url: endpoints.url() }),
    },
    {
      name: 'event of the stop',
      daemonOnly: true,
      stop: () => events.emit('gateway:shutdown', { platforms: connectedPlatforms(endpoints.supervisor.health()) }),
    },
    {
      name: 'engine',
      start() {
        core.runningTurns.setPaused(readPause(home.pauseFile))
        const begin = () => engine.start({ turn: runTurn, control: runCommand })
        const { loading } = pluginRegistries
        // A guardrail must not be absent from a turn because it is still loading. What waits at a stop waits for the next start.
        if (loading === undefined) begin()
        else void loading.done.then((areLoaded) => areLoaded && begin())
      },
      stop: ({ graceMs, force }) => engine.stop(graceMs, force),
    },
    {
      name: 'acceptance of messages',
      start() {
        lifecycle.ready()
        const { startedAt } = lifecycle
        log.info({ event: 'gateway.ready', url: endpoints.url(), ms: clock() - startedAt, home: home.root }, 'ready')
      },
      async stop() {
        log.info({ event: 'gateway.stopping', turns: engine.load().running }, 'stopping')
        failpoint?.('drain:begun')
        lifecycle.drain()
        await closeAttempts(store, log)
      },
    },
  ]
}

/** Counts from before the first message on. */
function metricsService({ context, core, endpoints }: Pick<Parts, 'context' | 'core' | 'endpoints'>): Service {
  let stop: (() => void) | undefined
  return {
    name: 'metrics',
    daemonOnly: true,
    async start() {
      if (!context.settings().http.metrics) return
      const { composeMetrics } = await import('./app/compose-metrics.ts')
      stop = composeMetrics(context, core, endpoints)
    },
    stop: () => stop?.(),
  }
}

/** What goes on while messages are answered. */
function backgroundServices(parts: Parts, services: Services): readonly Service[] {
  const { lifecycle, context, core, agentRuntime, endpoints, extensionWatcher } = parts
  const { config, log } = context
  const { hooks, approvals, pluginRegistries } = core
  const { agentCheck, cron } = agentRuntime
  const { supervisor } = endpoints
  const { stopping } = lifecycle
  const updateMenus = createCommandMenus(
    { accounts: supervisor.accounts, adapter: context.platforms.adapter },
    { stopping, log },
  )
  const connectsDone = supervisor.initialConnectsDone()
  const pluginsLoaded = async () => {
    await pluginRegistries.loading?.done
  }
  /** Unless the gateway stops before. */
  const after = (moment: Promise<void>, work: () => unknown) =>
    void moment.then(() => lifecycle.phase === 'ready' && work())

  return [
    {
      name: 'connections',
      start: supervisor.start,
      reconfigured: (changed) => applyAccounts(parts, changed),
    },
    {
      name: 'event of the start',
      daemonOnly: true,
      start: () =>
        after(connectsDone, () =>
          core.events.emit('gateway:startup', { platforms: connectedPlatforms(supervisor.health()) }),
        ),
    },
    { name: 'questions', start: () => void approvals.questions.run(stopping) },
    { name: 'retention', start: () => void removeOldData(parts) },
    {
      name: 'menus of commands',
      start: () => agentRuntime.skills.followMenu(() => updateMenus(['skills'])),
      reconfigured: updateMenus,
    },
    {
      name: 'changes of the configuration',
      start: () => config.onChange((_settings, changed) => services.reconfigured(changed)),
    },
    {
      name: 'check of the settings of the agent',
      start: () => void pluginsLoaded().then(agentCheck.review),
      reconfigured: () => void agentCheck.review(),
    },
    {
      name: 'check of the environment of commands',
      daemonOnly: true,
      start: () => after(pluginsLoaded(), () => checkEnvironment(parts)),
      reconfigured: () => void checkEnvironment(parts),
    },
    {
      name: 'check of the sandbox',
      daemonOnly: true,
      start: () => after(connectsDone, () => checkSandbox(parts)),
      reconfigured: () => void checkSandbox(parts),
    },
    {
      name: 'daemons of plugins',
      daemonOnly: true,
      start: () => after(pluginsLoaded(), pluginRegistries.daemons.start),
    },
    { name: 'schedule of jobs', daemonOnly: true, start: () => after(pluginsLoaded(), cron.start) },
    {
      name: 'watches of files',
      daemonOnly: true,
      start: () =>
        after(connectsDone, () => {
          config.watch()
          hooks.watch()
          extensionWatcher.start()
        }),
      stop: extensionWatcher.stop,
    },
  ]
}

/** A minute after the start, whose time it must not take. Never rejects. */
async function removeOldData({ context, core, lifecycle: { stopping } }: Parts): Promise<void> {
  const { log } = context
  await sleep(60_000, stopping)
  if (stopping.aborted) return
  try {
    const { runRetention } = await import('./flows/lifecycle/retention.ts')
    await runRetention(context, core.outbox, stopping)
  } catch (error) {
    log.error({ event: 'retention.failed', err: error }, 'old rows or files could not be removed')
  }
}

/** Reviews whether the sandbox works where it may not, so that the status says so before the first command. Never rejects. */
async function checkSandbox({ context, agentRuntime }: Parts): Promise<void> {
  const { settings, config, lifecycle, log } = context
  try {
    const isLikely = await isSandboxLikely(settings().terminal, config.environment().values['PATH'] ?? '')
    if (!isLikely && lifecycle.phase === 'ready') await agentRuntime.agentServices.environments.sandbox()
  } catch (error) {
    log.error({ event: 'sandbox.check_failed', err: error }, 'the sandbox could not be checked')
  }
}

/** Says in the status whether the environment of commands can be reached, if that is not this machine. Never rejects. */
async function checkEnvironment({ context, agentRuntime }: Parts): Promise<void> {
  const { settings, problems, log } = context
  problems.commands.environment = ''
  if (/^(?:local|bwrap|none)$/.test(settings().terminal.backend)) return
  try {
    const { reviewEnvironment } = await import('./flows/environments/review-environment.ts')
    await reviewEnvironment(context, agentRuntime.agentServices.environments.openRemote, problems.commands)
  } catch (error) {
    log.error({ event: 'environment.check_failed', err: error }, 'the environment of commands could not be checked')
  }
}

function applyAccounts({ context, core, endpoints }: Parts, changed: readonly string[]): void {
  const { accountDirectory, log } = context
  const before = accountDirectory.list()
  endpoints.supervisor
    .apply(accountDirectory.refresh())
    .catch((error) =>
      log.error({ event: 'platform.reconfigure_failed', err: error }, 'platforms were not reconfigured'),
    )
  if (!changed.some((path) => /^(?:platforms|gateway|environment)\b/.test(path))) return
  core
    .endRevoked(before)
    .catch((error) =>
      log.error({ event: 'access.messages_not_ended', err: error }, 'messages of revoked people were not ended'),
    )
}
