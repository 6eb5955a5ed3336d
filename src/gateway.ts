/**
 * The wiring diagram: builds every room once, joins them, starts and stops them in order. Decides nothing itself.
 */

import { composeAgent } from './app/compose-agent.ts'
import { composeCommandDispatcher } from './app/compose-commands.ts'
import { type Core, composeCore } from './app/compose-core.ts'
import type { AppContext, GatewayPhase } from './app/context.ts'
import { composeEndpoints } from './app/endpoints.ts'
import { type Infrastructure, openInfrastructure } from './app/infrastructure.ts'
import type { Gateway, GatewayOptions } from './app/options.ts'
import { removePidFile, writePidFile } from './app/pid-file.ts'
import { createAccountDirectory } from './flows/account-directory.ts'
import { runRetention } from './flows/retention.ts'
import { listOpenQueues } from './inbox/queries.ts'
import { brand } from './lib/brand.ts'
import { messageOf } from './lib/errors.ts'
import { prepareHome } from './lib/home.ts'
import { sleep } from './lib/timers.ts'
import type { SessionKey } from './message/ids.ts'
import { platformOf } from './sessions/session-key.ts'
import { sessionsWithOpenTurns } from './sessions/turns.ts'
import { type HomeLock, lockHome } from './store/sqlite/lock.ts'

export type { Gateway, GatewayOptions } from './app/options.ts'

/** What hooks are given at the end, ms, also when turns have used up the time of the drain. */
const shutdownHooksTimeoutMs = 1_000

/** Starts a gateway. Rejects `home/…`, `store/…`, `http/…` or `config/…`, with everything it had opened closed again. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  prepareHome(options.home)
  const lock = lockHome(options.home.lockFile)
  let infrastructure: Infrastructure | undefined
  try {
    infrastructure = await openInfrastructure(options)
    return await startWithInfrastructure(options, lock, infrastructure)
  } catch (error) {
    await infrastructure?.close()
    lock.release()
    throw error
  }
}

async function startWithInfrastructure(
  options: GatewayOptions,
  lock: HomeLock,
  infrastructure: Infrastructure,
): Promise<Gateway> {
  const { home, onlyPlatforms, failpoint = () => undefined } = options
  const { clock, log, config, catalogue, store } = infrastructure
  const settings = config.current
  const startedAt = clock()
  let phase: GatewayPhase = 'starting'
  let initialConnectPending = true
  let url = ''
  const stopping = new AbortController()
  const accountDirectory = createAccountDirectory({ catalogue, config, log, onlyPlatforms })

  // — Build: the rooms of the route, what works through their lanes, the doors to the outside
  const context: AppContext = {
    ...infrastructure,
    options,
    settings,
    accountDirectory,
    platforms: {
      adapter: ({ platform, account }) => supervisor.adapter(platform, account),
      failAccount: (platform, account, reason) => supervisor.failAccount(platform, account, reason),
      health: () => supervisor.health(),
    },
    phase: () => phase,
    startedAt,
    stopping: stopping.signal,
    random: Math.random,
    failpoint,
  }
  const core = composeCore(context)
  const { engine, hooks, outbox, questions, pluginRegistries, emit } = core
  const agentRuntime = composeAgent(context, core)
  const { agentServices, plugins, runTurn } = agentRuntime
  const runCommand = composeCommandDispatcher(context, core, agentRuntime)
  const endpoints = composeEndpoints(context, core, {
    agentServices,
    plugins,
    url: () => url,
    initialConnectPending: () => initialConnectPending,
  })
  const { http, supervisor } = endpoints

  // — Start: recovery, then HTTP, then the platforms
  try {
    // Before hooks: these ask which commands there are.
    await plugins.sync()
    // Recovery has things to tell.
    hooks?.discoverAndLoad()
    await recover(context, core)
    url = (await http.start()).url
    if (onlyPlatforms === undefined) writePidFile(home, { pid: process.pid, url })
  } catch (error) {
    await Promise.allSettled([http.stop(), outbox.stop(0), hooks?.stop(0), plugins.stop(0)])
    throw error
  }
  engine.start((key, lane, signal) => (lane === 'turn' ? runTurn(key, signal) : runCommand(key, signal)))
  phase = 'ready'
  log.info({ url, ms: clock() - startedAt, home: home.root }, 'ready')

  supervisor.start()
  const initialConnectsDone = supervisor.initialConnectsDone().then(() => {
    initialConnectPending = false
    if (phase === 'draining' || onlyPlatforms !== undefined) return
    emit('gateway:startup', { platforms: connectedNames() })
  })
  void questions.run(stopping.signal)
  void runRetention(
    { store, outbox, mediaDirectory: home.media, clock, log, settings: () => settings().retention, sleep },
    stopping.signal,
  )
  config.onChange((value, changed) => {
    if (options.log.level === undefined) log.setLevel(value.log.level)
    agentServices.reconfigured()
    hooks?.applyConfig()
    plugins.reconfigured(changed)
    supervisor
      .apply(accountDirectory.refresh())
      .catch((error) => log.error({ error }, `platforms could not follow the configuration: ${messageOf(error)}`))
  })
  if (onlyPlatforms === undefined) {
    void pluginRegistries.daemons.start()
    void initialConnectsDone.then(() => config.watch())
    void initialConnectsDone.then(() => phase === 'ready' && hooks?.watch())
  }

  function connectedNames(): string[] {
    const all = Object.entries(supervisor.health()).filter(([, { state }]) => state === 'connected')
    return all.map(([name]) => name)
  }

  // — Stop: the same in reverse, each step bounded
  async function stop(force?: AbortSignal): Promise<void> {
    phase = 'draining'
    log.info({ turns: engine.load().running }, 'stopping')
    failpoint('drain:begun')
    stopping.abort()
    const platforms = connectedNames()
    const graceMs = settings().agent.drain_timeout * 1_000
    const until = clock() + graceMs
    await engine.stop(graceMs, force)
    if (onlyPlatforms === undefined) emit('gateway:shutdown', { platforms })
    // Before the outbox stops: what hooks send in farewell still goes out.
    await hooks?.waitUntilIdle(Math.max(until - clock(), shutdownHooksTimeoutMs), force)
    // Also in a hurry: a turn that was cut off just now has its end told (seed 001), which takes no longer than this.
    await plugins.stop(shutdownHooksTimeoutMs)
    await outbox.stop(Math.min(graceMs, 5_000))
    await hooks?.waitUntilIdle(shutdownHooksTimeoutMs, force)
    await hooks?.stop(0)
    await supervisor.stop()
    await Promise.all([http.stop(), config.stop(), agentServices.close()])
    await store.close()
    if (onlyPlatforms === undefined) removePidFile(home, process.pid)
    lock.release()
    log.info({}, 'stopped')
    log.close()
  }
  let stopped: Promise<void> | undefined

  return {
    url,
    token: endpoints.token,
    config,
    log,
    status: endpoints.status,
    initialConnectsDone: () => initialConnectsDone,
    plugins: plugins.list,
    stop(hurry) {
      stopped ??= stop(hurry)
      return stopped
    },
  }
}

/** Takes up what the last process left: replies, turns, messages that wait, background tasks. Rejects `store/…`. */
async function recover(
  { options: { onlyPlatforms }, store, failpoint }: AppContext,
  { outbox, engine, backgroundTasks }: Core,
) {
  failpoint('recovery:begun')
  await outbox.recover()
  const open = await store.run(listOpenQueues)
  const interrupted = await store.run(sessionsWithOpenTurns)
  // A terminal with a gateway of its own leaves the work of other platforms to the daemon.
  const isOwn = (key: string) => onlyPlatforms === undefined || onlyPlatforms.includes(platformOf(key))
  for (const { session_key, lane } of open) if (isOwn(session_key)) engine.wake(brand<SessionKey>(session_key), lane)
  for (const key of interrupted) if (isOwn(key)) engine.wake(brand<SessionKey>(key), 'turn')
  if (onlyPlatforms === undefined) await backgroundTasks.recover()
  failpoint('recovery:done')
}
