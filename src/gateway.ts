/**
 * The wiring diagram: builds every room once, joins them, starts and stops them in order. Decides nothing itself.
 */
import { adminRoutes } from './admin-routes.ts'
import { createAgent } from './agent/loop.ts'
import { buildSystemPrompt } from './agent/prompt.ts'
import { createAgentServices } from './agent-services.ts'
import { createCommandLane } from './command-lane.ts'
import type { CommandServices } from './commands/command.ts'
import { createCommandRegistry } from './commands/registry.ts'
import { type ProcessEnvironment, readEnvironment } from './config/environment.ts'
import { type Config, createConfig } from './config/load.ts'
import { formatProblems } from './config/problem.ts'
import { createSecrets, secretsOfEnvironment } from './config/secrets.ts'
import { createEmbeddedEngine } from './engine/embedded.ts'
import { acceptedKeys, type GatewayShapes, gatewayShapes, gatewayVariables, restartPaths } from './gateway-config.ts'
import { announceDaemon, withdrawDaemon } from './gateway-lifecycle.ts'
import { createHttpServer } from './http/server.ts'
import { openGatewayToken } from './http/token.ts'
import { decideAccess, letsNobodyIn } from './inbox/access.ts'
import { createInbox } from './inbox/inbox.ts'
import { createOutcomes } from './inbox/outcomes.ts'
import { noteEventFailure, openLanes } from './inbox/queries.ts'
import { brand } from './lib/brand.ts'
import { HermesError, messageOf } from './lib/errors.ts'
import { readTextIfExists } from './lib/files.ts'
import { type HomeLayout, prepareHome } from './lib/home.ts'
import { createLog, type Log, type LogStream } from './lib/log.ts'
import { createRedactor } from './lib/redact.ts'
import { pause } from './lib/wait.ts'
import { type MessageEvent, parseCommand } from './message/event.ts'
import type { EventListener } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import type { SessionSource } from './message/source.ts'
import { createManagedCalls } from './middleware/managed.ts'
import { createOutbox } from './outbox/outbox.ts'
import { createPlatformContext } from './platform-context.ts'
import { type PlatformAccount, platformAccounts } from './platforms/accounts.ts'
import type { GatewayInfo } from './platforms/adapter.ts'
import { discoverPlatforms, loadPlatform, type PlatformCatalogue } from './platforms/registry.ts'
import { createSupervisor } from './platforms/supervisor.ts'
import { keepTidy } from './retention.ts'
import { createSessionServices } from './session-services.ts'
import { createRunningTurns } from './sessions/running-turns.ts'
import { isSharedSession, platformOf, type SessionKeyRules, sessionKeyOf } from './sessions/session-key.ts'
import { freezePrompt } from './sessions/transcript.ts'
import { sessionsWithOpenTurns } from './sessions/turns.ts'
import { type HomeLock, lockHome } from './store/sqlite/lock.ts'
import { createSqliteStore } from './store/sqlite/store.ts'
import { createTurnRunner } from './turn.ts'
import { createTurnJournal, type Turn } from './turn-journal.ts'

export interface GatewayOptions {
  readonly home: HomeLayout
  readonly version: string
  /** The environment of the process; the gateway reads no other. */
  readonly environment: ProcessEnvironment
  /** Folders of platform folders, the shipped ones first. */
  readonly platformFolders: readonly string[]
  /** The command line that runs this program, for the `hermes` that commands of the agent find. */
  readonly program: readonly string[]
  readonly log: {
    readonly stream?: LogStream
    readonly pretty: boolean
    readonly level?: 'debug' | 'info' | 'warn' | 'error'
  }
  /** A configuration that cannot be used ends the start (`config/invalid`) instead of degrading it. */
  readonly strict?: boolean
  /** Only these platforms, and any free port: a terminal that talks to a gateway of its own. */
  readonly only?: readonly string[]
  /** Told of every gateway event. */
  readonly listeners?: readonly EventListener[]
  /** Named points for crash tests; does nothing in production. */
  readonly probe?: (point: string) => void
  /** Asked for by an admin request; the owner of the process decides. */
  readonly onShutdownRequest?: () => void
}

export interface Gateway {
  /** Where HTTP listens. */
  readonly url: string
  readonly token: () => string
  readonly config: Config<GatewayShapes>
  readonly log: Log
  /** What `hermes status` shows. */
  status(): GatewayStatusReport
  /** Resolves when every first connect has settled. */
  settled(): Promise<void>
  /**
   * Takes nothing new in, gives running turns `agent.drain_timeout` to end, leaves the rest for the next start.
   * Aborting the signal ends the wait for turns. May be called twice.
   */
  stop(hurry?: AbortSignal): Promise<void>
}

export interface GatewayStatusReport {
  readonly version: string
  readonly pid: number
  readonly home: string
  readonly url: string
  readonly status: 'starting' | 'ready' | 'draining'
  readonly uptimeMs: number
  readonly model: string
  readonly provider: string
  readonly platforms: Readonly<Record<string, { readonly state: string; readonly reason?: string }>>
  readonly degraded: readonly string[]
  readonly pendingRestart: readonly string[]
  readonly turns: { readonly running: number; readonly waiting: number }
}

/** A commit this slow means that the disk is in trouble. */
const slowCommitMs = 250
const slowCommitShownMs = 60_000

/** Starts a gateway. Rejects `home/…`, `store/…`, `http/…` or `config/…`, with everything it had opened closed again. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  prepareHome(options.home)
  const lock = lockHome(options.home.lockFile)
  try {
    return await start(options, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function start(options: GatewayOptions, lock: HomeLock): Promise<Gateway> {
  const { home, version, probe = () => undefined } = options
  const clock = Date.now
  const random = Math.random
  const startedAt = clock()
  let phase: 'starting' | 'ready' | 'draining' = 'starting'

  // — Log, configuration
  const secrets = createSecrets()
  secrets.set('environment', secretsOfEnvironment(readEnvironment(home.envFile, options.environment).values))
  const { log, flushEarly } = openLog(options, secrets.all)
  const catalogue = await discoverPlatforms({ directories: options.platformFolders, log })
  const config = createConfig({
    home,
    shapes: gatewayShapes(catalogue.platforms),
    environment: () => readEnvironment(home.envFile, options.environment),
    environmentNames: gatewayVariables(catalogue.platforms),
    acceptedKeys,
    restartPaths,
    secrets,
    log,
  })
  flushEarly(config.current().log)
  if (options.strict === true && config.state().problems.length > 0) {
    throw new HermesError('config/invalid', `\n${formatProblems(config.state().problems)}`)
  }
  const settings = config.current

  // — Store
  let slowCommitAt = Number.NEGATIVE_INFINITY
  const store = createSqliteStore({
    path: home.databaseFile,
    onCommit: (ms) => {
      if (ms < slowCommitMs) return
      slowCommitAt = clock()
      log.warn({ ms: Math.round(ms) }, 'the disk is slow: a commit took long')
    },
  })
  const degraded = () => [
    ...config.state().degraded,
    ...catalogue.invalid.map(({ directory, reason }) => `platform folder ${directory}: ${reason}`),
    ...(settings().terminal.backend === 'local'
      ? []
      : [
          `terminal.backend: ${settings().terminal.backend} is not available yet; the model has no terminal and no file tools`,
        ]),
    ...(clock() - slowCommitAt < slowCommitShownMs ? ['disk: commits take longer than 250 ms'] : []),
  ]

  // — Who is who
  const manifests = new Map(catalogue.platforms.map((platform) => [platform.name, platform]))
  let accounts = accountsOf(catalogue, config, options.only)
  const watched = (source: SessionSource) => manifests.get(source.platform)?.gatewayEvents !== false
  const emit: EventListener = (name, context) => {
    for (const listener of options.listeners ?? []) listener(name, context)
  }
  const keyRules = (source: SessionSource): SessionKeyRules => ({
    groupSessionsPerUser: settings().group_sessions_per_user,
    threadSessionsPerUser: settings().thread_sessions_per_user,
    scoped: manifests.get(source.platform)?.sessionScope === 'scope_id',
  })
  const access = (event: Pick<MessageEvent, 'source' | 'internal'>) => {
    const { platform, account } = event.source
    const known = accounts.find((one) => one.platform.name === platform && one.account === account)
    if (known === undefined) return { allowed: false, reason: 'the account is not configured' }
    return decideAccess(event.source, { internal: event.internal }, known.access)
  }

  const warnOfClosedDoors = () => {
    for (const { platform, account, blocked, access: rules } of accounts) {
      if (blocked !== undefined || !letsNobodyIn(rules)) continue
      log.warn(
        { platform: platform.name, account },
        `nobody may write here yet: set platforms.${platform.name}.allow_from`,
      )
    }
  }
  warnOfClosedDoors()

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
    withheld: catalogue.platforms.flatMap((platform) => platform.environment.map(({ variable }) => variable)),
  })
  const outbox = createOutbox({
    store,
    sender: ({ platform, account }) => supervisor.adapter(platform, account),
    limitsOf: (platform) => manifests.get(platform)?.limits,
    onRefused: (platform, account) => supervisor.refuse(platform, account, 'the platform refused the credentials'),
    clock,
    random,
    log,
    settings,
    probe,
  })
  const sessions = createSessionServices({ store, engine, running, outcomes, emit, clock, watched })
  const inbox = createInbox({
    store,
    clock,
    log,
    probe,
    access,
    open: () => phase === 'ready',
    maxMessageBytes: () => settings().inbox.max_message_kb * 1024,
    sessionKey: (source) => sessionKeyOf(source, keyRules(source)),
    laneOf(event) {
      const command = parseCommand(event)
      return command === null ? 'turn' : (commands.resolve(command.name)?.lane ?? 'turn')
    },
    wake: engine.wake,
  })
  const services: CommandServices = {
    ...sessions,
    version,
    commands: commands.list,
    gatewayStatus: () => ({
      ...agents.describe(),
      uptimeMs: clock() - startedAt,
      platforms: supervisor.health(),
      degraded: degraded(),
    }),
    accessReason: (source) => access({ source }).reason,
  }
  const draining = () => phase === 'draining'
  const runCommand = createCommandLane({
    store,
    outbox,
    outcomes,
    commands,
    services,
    emit,
    log,
    clock,
    probe,
    draining,
    watched: (event) => watched(event.source),
  })
  const runTurn = createTurnRunner({
    journal: createTurnJournal({
      store,
      clock,
      isShared: ({ source }) => isSharedSession(source, keyRules(source)),
      routeOf: ({ source }) => `${source.platform}_${source.chatType}`,
    }),
    agent: createAgent({ managed: createManagedCalls(), log, random, pause, settings, probe }),
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
    toolContext: agents.toolContext,
    watched: (turn) => watched(turn.event.source),
    activity(target, activity) {
      try {
        supervisor.adapter(target.platform, target.account)?.activity?.(target, activity)
      } catch (error) {
        log.warn({ platform: target.platform, error }, `an adapter could not show what happens: ${messageOf(error)}`)
      }
    },
    noteFailure: (seq, reason) => store.run(() => noteEventFailure(seq, reason)),
    async freezePrompt(turn) {
      const text = buildSystemPrompt(await promptParts(turn))
      await store.run(() => freezePrompt(turn.sessionId, text))
      return text
    },
  })

  async function promptParts({ event: { source, seed } }: Turn) {
    return {
      persona: readPersona(home, settings().personality, log),
      instructions: seed?.instructions ?? '',
      platform: manifests.get(source.platform)?.label ?? source.platform,
      chatName: source.chatType === 'dm' ? '' : (source.chatName ?? ''),
      shared: isSharedSession(source, keyRules(source)),
      cwd: agents.cwd(),
      hasTools: (await agents.tools()).schemas().length > 0,
      today: new Date(clock()).toISOString().slice(0, 10),
    }
  }

  // — Doors to the outside
  const token = openGatewayToken({ home: home.root, configured: settings().http.token, log })
  secrets.set('token', [token()])
  let settling = true
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
  })
  const http = createHttpServer({
    settings: { ...settings().http, ...(options.only === undefined ? {} : { host: '127.0.0.1', port: 0 }) },
    token,
    log,
    readiness: () => ({ status: phase, platforms: shownHealth(supervisor.health()), degraded: degraded(), settling }),
    adminRoutes: adminRoutes({ store, engine, outbox, clock, status, shutdown: () => options.onShutdownRequest?.() }),
  })
  const info = (): GatewayInfo => ({ version, ...agents.describe(), degraded: degraded() })
  const supervisor = createSupervisor({
    accounts,
    load: loadPlatform,
    createContext: (account, life) =>
      createPlatformContext(
        { home: home.root, store, inbox, outcomes, sessions, log, clock, route: http.route, info },
        account,
        life,
      ),
    clock,
    random,
    pause,
    log,
    onConnected: (account) => outbox.platformConnected(account.platform.name, account.account),
    onHealth: (account, health) =>
      log.info({ platform: account.platform.name, account: account.account, ...health }, 'platform state'),
  })
  const ended = new AbortController()

  // — Start: recovery, then HTTP, then the platforms
  let url = ''
  try {
    probe('recovery:begun')
    await outbox.recover()
    const open = await store.run(openLanes)
    const cutOff = await store.run(sessionsWithOpenTurns)
    // A terminal with a gateway of its own leaves the work of other platforms to the daemon.
    const ours = (key: string) => options.only === undefined || options.only.includes(platformOf(key))
    for (const { session_key, lane } of open) if (ours(session_key)) engine.wake(brand<SessionKey>(session_key), lane)
    for (const key of cutOff) if (ours(key)) engine.wake(brand<SessionKey>(key), 'turn')
    probe('recovery:done')
    url = (await http.start()).url
    if (options.only === undefined) announceDaemon(home, { pid: process.pid, url })
  } catch (error) {
    await Promise.allSettled([http.stop(), outbox.stop(0)])
    await store.close()
    throw error
  }
  engine.start((key, lane, signal) => (lane === 'turn' ? runTurn(key, signal) : runCommand(key, signal)))
  phase = 'ready'
  log.info({ url, ms: clock() - startedAt, home: home.root }, 'ready')

  supervisor.start()
  const settled = supervisor.settled().then(() => {
    settling = false
    if (phase === 'draining' || options.only !== undefined) return
    emit('gateway:startup', { platforms: connectedNames() })
  })
  void keepTidy(
    { store, outbox, mediaFolder: home.media, clock, log, settings: () => settings().retention, pause },
    ended.signal,
  )
  config.onChange((value) => {
    if (options.log.level === undefined) log.setLevel(value.log.level)
    agents.reconfigured()
    accounts = accountsOf(catalogue, config, options.only)
    supervisor
      .apply(accounts)
      .catch((error) => log.error({ error }, `platforms could not follow the configuration: ${messageOf(error)}`))
  })
  if (options.only === undefined) void settled.then(() => config.watch())

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
    await engine.stop(graceMs, hurry)
    await outbox.stop(Math.min(graceMs, 5_000))
    if (options.only === undefined) emit('gateway:shutdown', { platforms })
    await supervisor.stop()
    await Promise.all([http.stop(), config.stop(), agents.close()])
    await store.close()
    if (options.only === undefined) withdrawDaemon(home)
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
    stop(hurry) {
      stopped ??= stop(hurry)
      return stopped
    },
  }
}

/** Lines written before the configuration is known wait until it says how loud the log is. */
function openLog(options: GatewayOptions, secrets: () => readonly string[]) {
  const { stream, pretty, level } = options.log
  const redactor = createRedactor({ secrets })
  const log = createLog({
    level: level ?? 'info',
    pretty,
    redactor,
    ...(stream === undefined ? {} : { stream }),
    file: { directory: options.home.logs },
  })
  return {
    log,
    flushEarly(configured: { readonly level: 'debug' | 'info' | 'warn' | 'error' }) {
      if (level === undefined) log.setLevel(configured.level)
    },
  }
}

function accountsOf(
  catalogue: PlatformCatalogue,
  config: Config<GatewayShapes>,
  only?: readonly string[],
): PlatformAccount[] {
  const { platforms, gateway } = config.current()
  const chosen = catalogue.platforms.filter(({ name }) => only === undefined || only.includes(name))
  const all = platformAccounts(chosen, { platforms, gateway })
  // A configuration that cannot be used opens no door to the outside; the page and the terminal stay, to mend it.
  const unusable = config.state().source === 'defaults' && config.state().problems.length > 0
  return unusable ? all.filter(({ platform }) => platform.access === 'token') : all
}

/** The persona file is the owner's: what cannot be read is said in the log, and the plain identity takes its place. */
function readPersona(home: HomeLayout, name: string, log: Log): string {
  try {
    return readTextIfExists(name === 'SOUL.md' ? home.soulFile : `${home.root}/${name}`, 65_536) ?? ''
  } catch (error) {
    log.warn({ file: name, error }, `the persona file cannot be used: ${messageOf(error)}`)
    return ''
  }
}

function shownHealth(health: ReturnType<ReturnType<typeof createSupervisor>['health']>) {
  return Object.fromEntries(Object.entries(health).filter(([, { state }]) => state !== 'disabled'))
}
