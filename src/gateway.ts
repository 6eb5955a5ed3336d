/**
 * The wiring diagram: builds every room once, joins them, starts and stops them in order. Decides nothing itself.
 */
import { createCommandRunner } from './gateway/commands.ts'
import { createConversations } from './gateway/conversations.ts'
import { createDoors } from './gateway/doors.ts'
import { type Ground, openGround } from './gateway/ground.ts'
import { announceDaemon, withdrawDaemon } from './gateway/lifecycle.ts'
import type { Gateway, GatewayOptions } from './gateway/options.ts'
import { createPeople } from './gateway/people.ts'
import { keepTidy } from './gateway/retention.ts'
import { createRooms, type Rooms } from './gateway/rooms.ts'
import type { Phase, Shared } from './gateway/shared.ts'
import { openLanes } from './inbox/queries.ts'
import { brand } from './lib/brand.ts'
import { messageOf } from './lib/errors.ts'
import { prepareHome } from './lib/home.ts'
import { pause } from './lib/wait.ts'
import type { SessionKey } from './message/ids.ts'
import { platformOf } from './sessions/session-key.ts'
import { sessionsWithOpenTurns } from './sessions/turns.ts'
import { type HomeLock, lockHome } from './store/sqlite/lock.ts'

export type { Gateway, GatewayOptions } from './gateway/options.ts'

/** What hooks are given at the end, ms, also when turns have used up the time of the drain. */
const farewellMs = 1_000

/** Starts a gateway. Rejects `home/…`, `store/…`, `http/…` or `config/…`, with everything it had opened closed again. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  prepareHome(options.home)
  const lock = lockHome(options.home.lockFile)
  let ground: Ground | undefined
  try {
    ground = await openGround(options)
    return await start(options, lock, ground)
  } catch (error) {
    await ground?.close()
    lock.release()
    throw error
  }
}

async function start(options: GatewayOptions, lock: HomeLock, ground: Ground): Promise<Gateway> {
  const { home, only, probe = () => undefined } = options
  const { clock, log, config, catalogue, store } = ground
  const settings = config.current
  const startedAt = clock()
  let phase: Phase = 'starting'
  let settling = true
  let url = ''
  const ended = new AbortController()
  const people = createPeople({ catalogue, config, log, only })

  // — Build: the rooms of the route, what works through their lanes, the doors to the outside
  const shared: Shared = {
    ...ground,
    options,
    settings,
    people,
    platforms: {
      adapter: ({ platform, account }) => supervisor.adapter(platform, account),
      refuse: (platform, account, reason) => supervisor.refuse(platform, account, reason),
      health: () => supervisor.health(),
    },
    phase: () => phase,
    startedAt,
    ended: ended.signal,
    random: Math.random,
    probe,
  }
  const rooms = createRooms(shared)
  const { engine, hooks, outbox, questions, pluginGround, emit } = rooms
  const conversations = createConversations(shared, rooms)
  const { agents, plugins, runTurn } = conversations
  const runCommand = createCommandRunner(shared, rooms, conversations)
  const doors = createDoors(shared, rooms, { agents, plugins, url: () => url, settling: () => settling })
  const { http, supervisor } = doors

  // — Start: recovery, then HTTP, then the platforms
  try {
    // Before hooks: these ask which commands there are.
    await plugins.follow()
    // Recovery has things to tell.
    hooks?.discoverAndLoad()
    await recover(shared, rooms)
    url = (await http.start()).url
    if (only === undefined) announceDaemon(home, { pid: process.pid, url })
  } catch (error) {
    await Promise.allSettled([http.stop(), outbox.stop(0), hooks?.stop(0), plugins.stop(0)])
    throw error
  }
  engine.start((key, lane, signal) => (lane === 'turn' ? runTurn(key, signal) : runCommand(key, signal)))
  phase = 'ready'
  log.info({ url, ms: clock() - startedAt, home: home.root }, 'ready')

  supervisor.start()
  const settled = supervisor.settled().then(() => {
    settling = false
    if (phase === 'draining' || only !== undefined) return
    emit('gateway:startup', { platforms: connectedNames() })
  })
  void questions.keepTime(ended.signal)
  void keepTidy(
    { store, outbox, mediaFolder: home.media, clock, log, settings: () => settings().retention, pause },
    ended.signal,
  )
  config.onChange((value, changed) => {
    if (options.log.level === undefined) log.setLevel(value.log.level)
    agents.reconfigured()
    hooks?.reconfigured()
    plugins.reconfigured(changed)
    supervisor
      .apply(people.refresh())
      .catch((error) => log.error({ error }, `platforms could not follow the configuration: ${messageOf(error)}`))
  })
  if (only === undefined) {
    void pluginGround.daemons.start()
    void settled.then(() => config.watch())
    void settled.then(() => phase === 'ready' && hooks?.watch())
  }

  function connectedNames(): string[] {
    const all = Object.entries(supervisor.health()).filter(([, { state }]) => state === 'connected')
    return all.map(([name]) => name)
  }

  // — Stop: the same in reverse, each step bounded
  async function stop(hurry?: AbortSignal): Promise<void> {
    phase = 'draining'
    log.info({ turns: engine.load().running }, 'stopping')
    probe('drain:begun')
    ended.abort()
    const platforms = connectedNames()
    const graceMs = settings().agent.drain_timeout * 1_000
    const until = clock() + graceMs
    await engine.stop(graceMs, hurry)
    if (only === undefined) emit('gateway:shutdown', { platforms })
    // Before the outbox stops: what hooks send in farewell still goes out.
    await hooks?.settled(Math.max(until - clock(), farewellMs), hurry)
    // Also in a hurry: a turn that was cut off just now has its end told (seed 001), which takes no longer than this.
    await plugins.stop(farewellMs)
    await outbox.stop(Math.min(graceMs, 5_000))
    await hooks?.settled(farewellMs, hurry)
    await hooks?.stop(0)
    await supervisor.stop()
    await Promise.all([http.stop(), config.stop(), agents.close()])
    await store.close()
    if (only === undefined) withdrawDaemon(home, process.pid)
    lock.release()
    log.info({}, 'stopped')
    log.close()
  }
  let stopped: Promise<void> | undefined

  return {
    url,
    token: doors.token,
    config,
    log,
    status: doors.status,
    settled: () => settled,
    plugins: plugins.list,
    stop(hurry) {
      stopped ??= stop(hurry)
      return stopped
    },
  }
}

/** Takes up what the last process left: replies, turns, messages that wait, background tasks. Rejects `store/…`. */
async function recover({ options: { only }, store, probe }: Shared, { outbox, engine, background }: Rooms) {
  probe('recovery:begun')
  await outbox.recover()
  const open = await store.run(openLanes)
  const cutOff = await store.run(sessionsWithOpenTurns)
  // A terminal with a gateway of its own leaves the work of other platforms to the daemon.
  const ours = (key: string) => only === undefined || only.includes(platformOf(key))
  for (const { session_key, lane } of open) if (ours(session_key)) engine.wake(brand<SessionKey>(session_key), lane)
  for (const key of cutOff) if (ours(key)) engine.wake(brand<SessionKey>(key), 'turn')
  if (only === undefined) await background.recover()
  probe('recovery:done')
}
