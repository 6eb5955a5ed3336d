/**
 * The wiring diagram: builds every room once, joins them, starts and stops them in order. Decides nothing itself.
 */

import { createAgent } from './agent/conversation.ts'
import { historyOf } from './agent/history.ts'
import type { CommandServices } from './commands/command.ts'
import { createCommandRegistry } from './commands/registry.ts'
import { createEmbeddedEngine } from './engine/embedded.ts'
import { adminRoutes } from './gateway/admin-routes.ts'
import { createAgentServices } from './gateway/agent-services.ts'
import { createBackground } from './gateway/background.ts'
import { createCommandDecisions } from './gateway/command-decision.ts'
import { createCommandLane } from './gateway/command-lane.ts'
import { type Ground, openGround } from './gateway/ground.ts'
import { hookRoutes } from './gateway/hook-routes.ts'
import { createGatewayHooks, createHookServices, tellSettled } from './gateway/hooks.ts'
import { announceDaemon, withdrawDaemon } from './gateway/lifecycle.ts'
import type { Gateway, GatewayOptions, GatewayStatusReport } from './gateway/options.ts'
import { createOutgoingFiles } from './gateway/outgoing-files.ts'
import { createPeople } from './gateway/people.ts'
import { createPlatformContext } from './gateway/platform-context.ts'
import { pluginRoutes } from './gateway/plugin-routes.ts'
import { createGatewayPlugins, createPluginGround } from './gateway/plugins.ts'
import { createAsking } from './gateway/questions.ts'
import { keepTidy } from './gateway/retention.ts'
import { createSessionCompression } from './gateway/session-compression.ts'
import { createPromptFreezer } from './gateway/session-prompt.ts'
import { createSessionServices } from './gateway/session-services.ts'
import { troublesOf } from './hooks/report.ts'
import { createHttpServer } from './http/server.ts'
import { openGatewayToken } from './http/token.ts'
import { createInbox } from './inbox/inbox.ts'
import { createOutcomes } from './inbox/outcomes.ts'
import { noteEventFailure, openLanes } from './inbox/queries.ts'
import { brand } from './lib/brand.ts'
import { messageOf } from './lib/errors.ts'
import { prepareHome } from './lib/home.ts'
import { systemRandom } from './lib/ids.ts'
import { createRedactor } from './lib/redact.ts'
import { pause } from './lib/wait.ts'
import { createMedia } from './media/media.ts'
import { type MessageEvent, parseCommand } from './message/event.ts'
import type { EventListener } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { createMiddleware } from './middleware/middleware.ts'
import { GuardrailRejected } from './middleware/rejected.ts'
import { createOutbox } from './outbox/outbox.ts'
import type { GatewayInfo } from './platforms/adapter.ts'
import { loadPlatform } from './platforms/registry.ts'
import { createSupervisor } from './platforms/supervisor.ts'
import { sourceOfLane } from './sessions/lane-source.ts'
import { createRunningTurns } from './sessions/running-turns.ts'
import { platformOf } from './sessions/session-key.ts'
import { sessionsWithOpenTurns } from './sessions/turns.ts'
import { type HomeLock, lockHome } from './store/sqlite/lock.ts'
import { createTurnFacts } from './turn/facts.ts'
import { createTurnJournal } from './turn/journal.ts'
import { createTurnRunner } from './turn.ts'

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
  const { home, version, only, probe = () => undefined } = options
  const { clock, log, config, catalogue, store, degraded } = ground
  const settings = config.current
  const random = Math.random
  const startedAt = clock()
  let phase: 'starting' | 'ready' | 'draining' = 'starting'
  const ended = new AbortController()
  const people = createPeople({ catalogue, config, log, only })
  /** What a terminal with a gateway of its own talks in. */
  let ownSession: SessionKey | undefined
  const emit: EventListener = (name, context) => {
    hooks?.emit(name, context)
    tell(name, context)
  }
  /** Listeners within the process, without the hooks. */
  const tell: EventListener = (name, context) => {
    for (const listener of options.listeners ?? []) {
      try {
        listener(name, context)
      } catch (error) {
        // Who only watches must never cost a reply: a throw from here would end the turn that was telling of itself.
        log.error({ event: name, error }, `a listener of gateway events failed: ${messageOf(error)}`)
      }
    }
  }

  // — The rooms of the route
  const engine = createEmbeddedEngine({ log, random, concurrency: () => settings().agent.max_concurrent_turns })
  const commands = createCommandRegistry()
  const outcomes = createOutcomes(store)
  const running = createRunningTurns()
  const agents = createAgentServices({
    home,
    log,
    settings,
    environment: config.environment,
    program: options.program,
    pluginTools: () => plugins.tools(),
    // Short ones are words of everyday text too, and a file somebody edits must come through as it is.
    redact: createRedactor({
      secrets: () => ground.secrets.all().filter((secret) => secret.length >= 12),
      knownOnly: true,
    }),
    withheld: catalogue.platforms.flatMap((platform) => platform.environment.map(({ variable }) => variable)),
  })
  const outbox = createOutbox({
    store,
    sender: ({ platform, account }) => supervisor.adapter(platform, account),
    limitsOf: (platform) => people.platform(platform)?.limits,
    manner: people.manner,
    files: createOutgoingFiles({ home, environment: config.environment, log }),
    onRefused: (platform, account) => supervisor.refuse(platform, account, 'the platform refused the credentials'),
    onSettled: (message) => {
      if (people.watched(message.target)) tellSettled(message, emit)
    },
    clock,
    random,
    log,
    settings,
    probe,
  })
  // A terminal with a gateway of its own loads no hooks (contract §1.2).
  const hooks =
    only === undefined
      ? createGatewayHooks({
          home,
          config,
          commands,
          acceptsAll: options.acceptHooks === true,
          services: createHookServices({
            people,
            store,
            outbox,
            startTask: (order) => background.start(order),
            openTasks: () => background.open(),
            clock,
            log,
          }),
          clock,
          log,
        })
      : undefined
  const routeOf = ({ source, task }: Pick<MessageEvent, 'source' | 'task'>) =>
    task?.route ?? `${source.platform}_${source.chatType}`
  // The command line is the platform without gateway events, and the one without a route (seed 003).
  const routeForPlugins = (event: Pick<MessageEvent, 'source' | 'task'>) =>
    people.platform(event.source.platform)?.gatewayEvents === false ? '' : routeOf(event)
  const factsOf = createTurnFacts(routeForPlugins)
  const middleware = createMiddleware({ log })
  const pluginGround = createPluginGround({
    config,
    middleware,
    routeOf: (source) => routeForPlugins({ source }),
    redact: createRedactor({ secrets: ground.secrets.all }),
    clock,
    random,
    pause,
    log,
  })
  const { gatewayPoints } = pluginGround
  const sessions = createSessionServices({
    store,
    engine,
    running,
    outcomes,
    emit,
    clock,
    watched: people.watched,
    sessionReplaced(replaced) {
      gatewayPoints.sessionReplaced(replaced)
      void questions.turnEnded(replaced.sessionKey)
    },
  })
  const inbox = createInbox({
    store,
    clock,
    log,
    probe,
    access: people.access,
    edits: (source) => people.manner(source).edits,
    watched: people.watched,
    plugins: gatewayPoints,
    emit,
    settled(seq, outcome) {
      // Its files may be on their way.
      running.stopEvent(seq)
      outcomes.settle(seq, outcome)
    },
    open: () => phase === 'ready',
    maxMessageBytes: () => settings().inbox.max_message_kb * 1024,
    sessionKey: people.sessionKey,
    laneOf(event) {
      const command = parseCommand(event)
      return command === null ? 'turn' : (commands.resolve(command.name)?.lane ?? 'turn')
    },
    wake(key, lane, event) {
      if (event !== undefined) decisions.arrived(key, event)
      if (only !== undefined) ownSession = key
      engine.wake(key, lane)
    },
  })
  const background = createBackground({ store, inbox, outcomes, clock, log })
  const { questions, confirm, approve } = createAsking({
    store,
    outbox,
    engine,
    people,
    clock,
    log,
    settings,
    emit,
    adapter: ({ platform, account }) => supervisor.adapter(platform, account),
    open: () => phase === 'ready',
    plugins: gatewayPoints,
    redact: createRedactor({ secrets: ground.secrets.all }),
    stopping: ended.signal,
    letGo: running.cutOff,
    probe,
  })
  const compression = createSessionCompression({
    store,
    engine,
    middleware,
    factsOf,
    clock,
    random,
    pause,
    log,
    emit,
    settings,
    watched: (turn) => people.watched(turn.event.source),
    async insights({ sessionId, event: { source, task } }, messages) {
      const { platform, userId = '' } = source
      // As everywhere: what runs in the background is nobody's memory.
      return task === undefined
        ? await pluginGround.memory.beforeCompression(historyOf(messages), { sessionId, platform, userId })
        : ''
    },
    probe,
  })
  const services: CommandServices = {
    ...sessions,
    compressSession: compression.compressSession,
    answer: questions.typed,
    waitingQuestion: questions.waiting,
    version,
    commands: commands.list,
    gatewayStatus: () => ({
      ...agents.describe(),
      uptimeMs: clock() - startedAt,
      platforms: supervisor.health(),
      degraded: degraded(),
      background: background.open(),
    }),
    accessReason: (source) => people.access({ source }).reason,
  }
  const draining = () => phase === 'draining'
  const decisions = createCommandDecisions({
    hooks,
    commands,
    isRunning: running.isRunning,
    waitMs: () => settings().hooks.command_timeout * 1_000,
  })
  const runCommand = createCommandLane({
    store,
    outbox,
    outcomes,
    commands,
    services,
    confirm,
    emit,
    tell,
    decisions,
    watchCommand(command) {
      if (!running.isRunning(command.sessionKey)) gatewayPoints.command(command)
    },
    mayWrite: ({ source }) => people.access({ source }).allowed,
    log,
    clock,
    probe,
    draining,
    watched: (event) => people.watched(event.source),
  })
  const media = createMedia({
    folder: home.media,
    clock,
    pause,
    log,
    maxBytes: () => settings().media.max_mb * 1_048_576,
    adapter: ({ platform, account }) => supervisor.adapter(platform, account),
    mark: () => Buffer.from(systemRandom(4)).toString('hex'),
    redact: createRedactor({ secrets: ground.secrets.all }),
  })
  const managed = {
    middleware,
    points: pluginGround.points,
    approve,
    refusal: (error: unknown) => (error instanceof GuardrailRejected ? error.reason : null),
    clock,
    log,
    random,
    pause,
    settings,
    probe,
  }
  const runTurn = createTurnRunner({
    journal: createTurnJournal({
      store,
      clock,
      isShared: ({ source }) => people.isShared(source),
      routeOf,
    }),
    agent: createAgent(managed),
    factsOf,
    culprit: middleware.culprit,
    outbox,
    outcomes,
    running,
    emit,
    log,
    random,
    pause,
    probe,
    draining,
    model: agents.model,
    tools: agents.tools,
    compression,
    toolContext: agents.toolContext,
    openPlace: agents.openPlace,
    watched: (turn) => people.watched(turn.event.source),
    activity(target, activity) {
      try {
        supervisor.adapter(target.platform, target.account)?.activity?.(target, activity)
      } catch (error) {
        log.warn({ platform: target.platform, error }, `an adapter could not show what happens: ${messageOf(error)}`)
      }
    },
    fetchAttachments: (event, name, signal) =>
      media.fetchAttachments(event, name, AbortSignal.any([signal, ended.signal])),
    withdraw: sessions.stopEvent,
    turnEnded: (key) => void questions.turnEnded(key),
    noteFailure: (seq, reason) => store.run(() => noteEventFailure(seq, reason)),
    freezePrompt: createPromptFreezer({
      home,
      store,
      config,
      people,
      agents,
      log,
      clock,
      sendsFiles: ({ platform, account }) => supervisor.adapter(platform, account)?.sendsAttachments === true,
      plugins: pluginGround,
    }),
  })
  const plugins = createGatewayPlugins({
    ...managed,
    ...pluginGround,
    home,
    config,
    commands,
    agents,
    inbox,
    maxRetries: () => settings().agent.max_retries,
    async writerIn(key) {
      const source = await store.run(() => sourceOfLane(key))
      return source !== undefined && people.access({ source }).allowed ? source : undefined
    },
    ownSession: () => ownSession,
    toolsChanged: agents.toolsChanged,
    onPluginCall: options.onPluginCall,
    ended: ended.signal,
  })

  // — Doors to the outside
  const token = openGatewayToken({ home: home.root, configured: settings().http.token, log })
  ground.secrets.set('token', [token()])
  let settling = true
  const redact = createRedactor({ secrets: ground.secrets.all })
  const status = (): GatewayStatusReport => ({
    version,
    pid: process.pid,
    home: home.root,
    url,
    status: phase,
    uptimeMs: clock() - startedAt,
    ...agents.describe(),
    platforms: supervisor.health(),
    degraded: degraded(),
    pendingRestart: config.state().pendingRestart,
    turns: engine.load(),
    background: background.open(),
    hooks: troublesOf(hooks?.list() ?? []).map((one) => ({ ...one, reason: redact(one.reason) })),
    plugins: plugins.troubles().map((one) => ({ ...one, reason: redact(one.reason) })),
    daemons: pluginGround.daemons.status().map(({ name, owner, state, restarts, lastError }) => ({
      name,
      owner,
      state,
      restarts,
      reason: redact(lastError?.text ?? ''),
    })),
  })
  const http = createHttpServer({
    settings: { ...settings().http, ...(only === undefined ? {} : { host: '127.0.0.1', port: 0 }) },
    token,
    log,
    readiness: () => ({ status: phase, platforms: shownHealth(supervisor.health()), degraded: degraded(), settling }),
    adminRoutes: [
      ...adminRoutes({ store, engine, outbox, clock, status, shutdown: () => options.onShutdownRequest?.() }),
      ...(hooks === undefined ? [] : hookRoutes(hooks, redact)),
      ...pluginRoutes(plugins, config.reload, redact),
    ],
  })
  const info = (): GatewayInfo => ({ version, ...agents.describe(), degraded: degraded() })
  const supervisor = createSupervisor({
    accounts: people.accounts(),
    load: (platform) => loadPlatform(platform, log.child({ platform: platform.name })),
    createContext: (account, life) =>
      createPlatformContext(
        {
          home: home.root,
          store,
          inbox,
          outcomes,
          outbox,
          sessions,
          log,
          clock,
          route: http.route,
          info,
          press: questions.press,
          commands: commands.list,
        },
        account,
        life,
      ),
    clock,
    random,
    pause,
    log,
    onConnected: (account) => outbox.platformConnected(account.platform.name, account.account),
  })

  // — Start: recovery, then HTTP, then the platforms
  let url = ''
  try {
    // Before hooks: these ask which commands there are.
    await plugins.follow()
    // Recovery has things to tell.
    hooks?.discoverAndLoad()
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
    gatewayPoints.stopping()
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
    token,
    config,
    log,
    status,
    settled: () => settled,
    plugins: plugins.list,
    stop(hurry) {
      stopped ??= stop(hurry)
      return stopped
    },
  }
}

function shownHealth(health: ReturnType<ReturnType<typeof createSupervisor>['health']>) {
  return Object.fromEntries(Object.entries(health).filter(([, { state }]) => state !== 'disabled'))
}
