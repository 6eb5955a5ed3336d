/**
 * The composition root: builds every module once, connects them, starts and stops them in order. Decides nothing itself.
 */
import { existsSync } from 'node:fs'
import { createModelCallMonitor } from './agent/models/model-call-monitor.ts'
import { createCommandMenus } from './app/command-menus.ts'
import { type AgentRuntime, composeAgent } from './app/compose-agent.ts'
import { type CommandRuntime, composeCommandRegistry, composeCommandRuntime } from './app/compose-commands.ts'
import { composeCore } from './app/compose-core.ts'
import type { AppContext } from './app/context.ts'
import type { Core } from './app/core.ts'
import { composeEndpoints, type Endpoints } from './app/endpoints.ts'
import { type Infrastructure, openInfrastructure } from './app/infrastructure.ts'
import type { Gateway, GatewayOptions } from './app/options.ts'
import { removePidFile, writePidFile } from './app/pid-file.ts'
import { readProfileFacts } from './app/profile-facts.ts'
import { createAccountDirectory } from './flows/access/account-directory.ts'
import { createExtensionWatcher, type ExtensionWatcher } from './flows/lifecycle/extension-watcher.ts'
import { closeAttempts, hasRestartRequest, recover } from './flows/lifecycle/recovery.ts'
import { runRetention } from './flows/lifecycle/retention.ts'
import {
  connectedPlatforms,
  type GatewayPhase,
  hungCallsWarnings,
  isSandboxLikely,
  pauseWarnings,
} from './flows/lifecycle/status.ts'
import { prepareHome } from './lib/home.ts'
import { sleep } from './lib/timers.ts'
import type { SessionKey } from './message/ids.ts'
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
  let infrastructure: Infrastructure | undefined
  try {
    infrastructure = await openInfrastructure(options)
    const parts = build(options, lock, infrastructure)
    await start(parts)
    return run(parts)
  } catch (error) {
    await infrastructure?.close()
    lock.release()
    throw error
  }
}

/** What changes while a gateway lives. */
interface GatewayState {
  phase: GatewayPhase
  initialConnectPending: boolean
  /** Plugins that decide which messages are taken have stopped. */
  isClosed: boolean
  url: string
}

interface Parts {
  readonly lock: HomeLock
  readonly state: GatewayState
  readonly stopping: AbortController
  readonly context: AppContext
  readonly core: Core
  readonly agentRuntime: AgentRuntime
  readonly runCommand: CommandRuntime['runCommand']
  readonly endpoints: Endpoints
  readonly extensionWatcher: ExtensionWatcher
}

// Build: the modules on the route of a message, what runs their queues, the endpoints

function build(options: GatewayOptions, lock: HomeLock, infrastructure: Infrastructure): Parts {
  const { clock, log, secrets, redact, config, catalogue, store, sandboxReport, suspiciousFiles, degraded, paired } =
    infrastructure
  const state: GatewayState = { phase: 'starting', initialConnectPending: true, isClosed: false, url: '' }
  const stopping = new AbortController()
  const modelCalls = createModelCallMonitor({ log })
  const memoryProblems = () => {
    const problem = agentRuntime.plugins.memoryProblem()
    return problem === undefined ? [] : [problem]
  }
  const context: AppContext = {
    options,
    config,
    settings: config.current,
    secrets,
    redact,
    catalogue,
    accountDirectory: createAccountDirectory({
      catalogue,
      settings: config.current,
      unusableSettings: config.unusableSettings,
      usesDefaultsAfterFailure: () => config.state().source === 'defaults' && config.state().problems.length > 0,
      log,
      profile: readProfileFacts(options.home).sessionNamespace,
      onlyPlatforms: options.onlyPlatforms,
      adapter: ({ platform, account }) => endpoints.supervisor.adapter(platform, account),
      clock,
      ...(paired === undefined ? {} : { paired }),
    }),
    platforms: {
      adapter: ({ platform, account }) => endpoints.supervisor.adapter(platform, account),
      failAccount: (platform, account, reason) => endpoints.supervisor.failAccount(platform, account, reason),
      health: () => endpoints.supervisor.health(),
    },
    store,
    modelCalls,
    sandbox: () => agentRuntime.agentServices.sandbox(),
    runAgentCommand: (turn, args, signal) => commandRuntime.runAgentCommand(turn, args, signal),
    sandboxReport,
    suspiciousFiles,
    promptFileProblems: infrastructure.promptFileProblems,
    degraded: () => [
      ...pauseWarnings(core.runningTurns.paused()),
      ...degraded(),
      ...memoryProblems(),
      ...agentRuntime.agentCheck.problems(),
      ...agentRuntime.skills.problems(),
      ...agentRuntime.cron.problems(),
      ...hungCallsWarnings(modelCalls.blockingCalls()),
    ],
    phase: () => state.phase,
    isOpen: () => state.phase === 'ready',
    isDraining: () => state.phase === 'draining',
    storesForNextStart: () => state.phase === 'draining' && !state.isClosed,
    startedAt: clock(),
    stopping: stopping.signal,
    clock,
    random: Math.random,
    log,
    failpoint: options.failpoint ?? (() => undefined),
  }
  const commands = composeCommandRegistry(context, () => commandRuntime.gateway)
  const core = composeCore(context, commands, (task) => agentRuntime.agentServices.auxiliary(task))
  const agentRuntime = composeAgent(context, core)
  const { plugins } = agentRuntime
  const commandRuntime = composeCommandRuntime(context, core, agentRuntime)
  const { runCommand } = commandRuntime
  const extensionWatcher = createExtensionWatcher({ home: options.home, syncPlugins: plugins.sync, log })
  const endpoints = composeEndpoints(context, core, {
    ...agentRuntime,
    models: commandRuntime.gateway.models,
    url: () => state.url,
    initialConnectPending: () => state.initialConnectPending,
    changedPlatforms: extensionWatcher.changedPlatforms,
  })
  return { lock, state, stopping, context, core, agentRuntime, runCommand, endpoints, extensionWatcher }
}

// Start: plugins and hooks, recovery, HTTP; the platforms connect last

async function start({ state, context, core, agentRuntime, runCommand, endpoints }: Parts): Promise<void> {
  const { options, store, clock, log, startedAt, failpoint } = context
  const { engine, hooks, outbox, backgroundTasks, pluginRegistries } = core
  const { plugins, runTurn } = agentRuntime
  const { home, onlyPlatforms } = options
  try {
    if (onlyPlatforms === undefined && existsSync(home.authFile))
      await (await import('./flows/lifecycle/stored-key-values.ts')).replaceKeyValues(home.authFile, log)
    // Before hooks: their discovery reads the list of commands.
    await (onlyPlatforms === undefined ? plugins.start() : plugins.sync())
    // Before recovery, which emits events.
    hooks.discoverAndLoad()
    const announceRefused = async (key: SessionKey) => (await core.busyArrivals()).announceRefused(key)
    await recover({
      store,
      clock,
      log,
      outbox,
      engine,
      backgroundTasks,
      announceRefused,
      endRevoked: core.endRevoked,
      reportLostCommands: agentRuntime.agentServices.reportLostCommands,
      onlyPlatforms,
      failpoint,
    })
    if (onlyPlatforms === undefined && (await store.run(hasRestartRequest)))
      await (await import('./flows/lifecycle/restart.ts')).reportRestart(restartDeps({ context, core }))
    state.url = (await endpoints.http.start()).url
    if (onlyPlatforms === undefined) writePidFile(home, { pid: process.pid, url: state.url })
  } catch (error) {
    await Promise.allSettled([endpoints.http.stop(), outbox.stop(0), hooks.stop(0), plugins.stop(0)])
    throw error
  }
  core.runningTurns.setPaused(readPause(home.pauseFile))
  engine.start(async (key, queue, signal) => {
    // A guardrail must not be absent from a turn because it is still loading. What waits at a stop waits for the next start.
    if ((await pluginRegistries.loading?.done) === false) return
    await (queue === 'turn' ? runTurn(key, signal) : runCommand(key, signal))
  })
  state.phase = 'ready'
  log.info({ event: 'gateway.ready', url: state.url, ms: clock() - startedAt, home: home.root }, 'ready')
}

function run(parts: Parts): Gateway {
  const { state, context, core, agentRuntime, endpoints, extensionWatcher } = parts
  const { options, config, settings, store, clock, log, stopping } = context
  const { outbox, hooks, events, approvals, pluginRegistries } = core
  const { supervisor } = endpoints
  const isDaemon = options.onlyPlatforms === undefined
  const pluginsLoaded = async () => {
    await pluginRegistries.loading?.done
  }

  supervisor.start()
  const initialConnectsDone = supervisor.initialConnectsDone().then(() => {
    state.initialConnectPending = false
    if (state.phase === 'draining' || !isDaemon) return
    events.emit('gateway:startup', { platforms: connectedPlatforms(supervisor.health()) })
  })
  void approvals.questions.run(stopping)
  const retention = () => settings().retention
  const { media: mediaDirectory, pictures, results } = options.home
  const maxTotalBytes = () => settings().media.max_total_mb * 1_048_576
  void runRetention(
    { store, outbox, mediaDirectory, pictures, results, maxTotalBytes, clock, log, settings: retention, sleep },
    stopping,
  )
  followConfiguration(parts)
  void pluginsLoaded().then(() => reviewAgentSettings(parts))
  if (isDaemon) {
    void pluginsLoaded().then(async () => {
      if (state.phase === 'ready') await pluginRegistries.daemons.start()
    })
    void initialConnectsDone.then(() => config.watch())
    void initialConnectsDone.then(() => checkSandbox(parts))
    void pluginsLoaded().then(async () => {
      if (state.phase === 'ready') await agentRuntime.cron.start()
    })
    void pluginsLoaded().then(() => checkPlace(parts))
    void initialConnectsDone.then(() => state.phase === 'ready' && hooks.watch())
    void initialConnectsDone.then(() => state.phase === 'ready' && extensionWatcher.start())
  }

  let stopped: Promise<void> | undefined
  return {
    url: state.url,
    token: endpoints.token,
    config,
    log,
    status: endpoints.status,
    initialConnectsDone: () => initialConnectsDone,
    plugins: agentRuntime.plugins.list,
    pluginsLoaded,
    stop(force, isRestart) {
      stopped ??= stop(parts, force, isRestart)
      return stopped
    },
    announceRestart: async () => (await import('./flows/lifecycle/restart.ts')).requestRestart(restartDeps(parts)),
  }
}

/** Opens the sandbox early where it may not work, so that the status says so before the first command. Never rejects. */
async function checkSandbox({ context }: Parts): Promise<void> {
  const { settings, config, log } = context
  try {
    const isLikely = await isSandboxLikely(settings().terminal, config.environment().values['PATH'] ?? '')
    if (!isLikely && context.isOpen()) await context.sandbox()
  } catch (error) {
    log.error({ event: 'sandbox.check_failed', err: error }, 'the sandbox could not be checked')
  }
}

/** Says in the status whether the place of commands can be reached, if that is not this machine. Never rejects. */
async function checkPlace({ context, agentRuntime, stopping }: Parts): Promise<void> {
  const { settings, sandboxReport: report, log } = context
  report.place = ''
  if (/^(?:local|bwrap|none)$/.test(settings().terminal.backend)) return
  try {
    const { reviewPlace } = await import('./flows/environments/review-environment.ts')
    const { openPlaces } = agentRuntime.agentServices
    await reviewPlace({ settings, openPlaces, report, stopping: stopping.signal, log })
  } catch (error) {
    log.error({ event: 'environment.check_failed', err: error }, 'the place of commands could not be checked')
  }
}

function followConfiguration(parts: Parts): void {
  const { context, core, agentRuntime, endpoints, stopping } = parts
  const { options, config, accountDirectory, log } = context
  const updateMenus = createCommandMenus({ supervisor: endpoints.supervisor, sleep, stopping: stopping.signal, log })
  agentRuntime.skills.followMenu(() => updateMenus(['skills']))
  config.onChange((value, changed) => {
    updateMenus(changed)
    if (options.log.level === undefined) log.setLevel(value.log.level)
    agentRuntime.agentServices.reconfigured()
    agentRuntime.mcp.reconfigured()
    if (options.onlyPlatforms === undefined) {
      void checkSandbox(parts)
      void checkPlace(parts)
    }
    core.hooks.applyConfig()
    agentRuntime.plugins.reconfigured(changed)
    void reviewAgentSettings(parts)
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
  })
}

/** Never rejects. */
async function reviewAgentSettings({ context, agentRuntime }: Parts): Promise<void> {
  const { log } = context
  const { agentCheck } = agentRuntime
  try {
    await agentCheck.review()
    const problems = agentCheck.problems()
    if (problems.length > 0)
      log.warn({ event: 'agent.settings_unusable', problems }, 'settings of the agent have no effect')
  } catch (error) {
    log.error({ event: 'agent.settings_check_failed', err: error }, 'the settings of the agent could not be checked')
  }
}

function restartDeps({ context, core }: Pick<Parts, 'context' | 'core'>) {
  const { store, accountDirectory, clock, log } = context
  return { store, outbox: core.outbox, accountDirectory, clock, log, notices: core.turnNotices }
}

// Stop: the reverse order, each step bounded

async function stop(parts: Parts, force?: AbortSignal, isRestart = false): Promise<void> {
  const { lock, state, stopping, context, core, agentRuntime, endpoints } = parts
  const { options, config, settings, store, clock, log, failpoint } = context
  const { engine, outbox, hooks, events } = core
  const { agentServices, plugins, mcp, cron } = agentRuntime
  const { supervisor, http } = endpoints
  const isDaemon = options.onlyPlatforms === undefined

  state.phase = 'draining'
  parts.extensionWatcher.stop()
  log.info({ event: 'gateway.stopping', turns: engine.load().running }, 'stopping')
  failpoint('drain:begun')
  stopping.abort()
  await closeAttempts(store, log)
  const platforms = connectedPlatforms(supervisor.health())
  const { drain_timeout, restart_drain_timeout } = settings().agent
  const graceMs = (isRestart ? (restart_drain_timeout ?? drain_timeout) : drain_timeout) * 1_000
  const until = clock() + graceMs
  await engine.stop(graceMs, force)
  if (isDaemon) events.emit('gateway:shutdown', { platforms })
  // Before the outbox stops, so that messages of shutdown hooks are sent.
  await hooks.waitUntilIdle(Math.max(until - clock(), shutdownHooksTimeoutMs), force)
  state.isClosed = core.pluginRegistries.gatewayHooks.hasPreDispatchHooks()
  // Not shortened by `force`: plugins are notified of the end of interrupted turns (seed 001).
  await plugins.stop(shutdownHooksTimeoutMs)
  await outbox.stop(isRestart ? maxOutboxDrainMs : Math.min(graceMs, maxOutboxDrainMs))
  await hooks.waitUntilIdle(shutdownHooksTimeoutMs, force)
  await hooks.stop(0)
  await supervisor.stop()
  const ends = [http.stop(), config.stop(), agentServices.close(), agentRuntime.titlesIdle(), mcp.close(), cron.stop()]
  // What cannot be stopped must not keep the database and the lock of the home.
  for (const end of await Promise.allSettled(ends))
    if (end.status === 'rejected')
      log.error({ event: 'gateway.stop_failed', err: end.reason }, 'a part of the gateway could not be stopped')
  await store.close()
  if (isDaemon) removePidFile(options.home, process.pid)
  lock.release()
  log.info({ event: 'gateway.stopped' }, 'stopped')
  log.close()
}
