/**
 * Composes the modules on the route of a message (inbox, sessions, outbox) with hooks, approvals and the registries of
 * plugins. What runs the queues is composed of these in compose-agent.ts and compose-commands.ts.
 */

import { type AgentHooks, noopAgentHooks, type TurnInfo } from '../agent/agent-hooks.ts'
import { type CommandRegistry, createCommandRegistry } from '../commands/registry.ts'
import type { Environment } from '../config/environment.ts'
import { createEmbeddedEngine } from '../engine/embedded-engine.ts'
import type { Engine } from '../engine/engine.ts'
import type { AgentServices } from '../flows/agent-services.ts'
import { type Approvals, createApprovals } from '../flows/approvals.ts'
import { createAttachmentPolicy } from '../flows/attachment-policy.ts'
import { type BackgroundTasks, createBackgroundTasks } from '../flows/background-tasks.ts'
import type { BusyArrivals } from '../flows/busy/arrivals.ts'
import { type CommandDecisions, createCommandDecisions } from '../flows/command-decision.ts'
import { createGatewayEvents, type GatewayEvents } from '../flows/gateway-events.ts'
import { createHookServices, type HookServicesDeps } from '../flows/hook-host-api.ts'
import type { PauseDeps } from '../flows/pause.ts'
import { createSessionServices, type SessionServices } from '../flows/session-services.ts'
import { createTurnInfoFactory, type TurnInfoFactory } from '../flows/turn/claim.ts'
import { createTurnNotices, type TurnNotices } from '../flows/turn/turn-notices.ts'
import { createTurnWait, type TurnWait } from '../flows/turn/waiting.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import { createEventResults, type EventResults } from '../inbox/event-results.ts'
import { createInbox, type Inbox, type InboxDeps } from '../inbox/inbox.ts'
import { brand } from '../lib/ids.ts'
import { createSecretFilter } from '../lib/redact.ts'
import { sleep } from '../lib/timers.ts'
import { type MessageEvent, parseCommand, withResetTrigger } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import type { Middleware } from '../middleware/managed-call.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { createOutbox, type Outbox } from '../outbox/outbox.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import { createAgentHooks } from '../plugins/agent-hooks.ts'
import { createDaemons, type Daemons } from '../plugins/daemons/daemons.ts'
import {
  createGatewayHooks,
  type GatewayHooks,
  type GatewayHooksDeps,
  type LoadingPlugins,
} from '../plugins/gateway-hooks.ts'
import { createPluginHooks, type PluginHooks } from '../plugins/hooks/plugin-hooks.ts'
import { type MemorySessionReplacement, noopPluginMemory, type PluginMemory } from '../plugins/plugin-memory.ts'
import { createPluginSkills, type PluginSkills } from '../plugins/plugin-skills.ts'
import { createPromptSections, type PromptSections } from '../plugins/prompt-sections.ts'
import { createRunningTurns, type RunningTurns } from '../sessions/running-turns.ts'
import { composeHooks } from './compose-hooks.ts'
import { composePairing, type PairingControl } from './compose-pairing.ts'
import type { AppContext } from './context.ts'

/** What plugins register with. The registries exist with or without plugins. */
export interface PluginRegistries {
  readonly middleware: Middleware
  readonly hooks: PluginHooks
  readonly memory: PluginMemory
  /** Tells the memory of a plugin that a conversation goes on in another session, or with fewer messages. */
  notifyMemory(
    replaced: Pick<MemorySessionReplacement, 'sessionKey' | 'oldSessionId' | 'newSessionId' | 'reason'> & {
      readonly source: SessionSource
    },
  ): void
  readonly sections: PromptSections
  readonly skills: PluginSkills
  readonly daemons: Daemons
  /** The hooks that the agent calls. */
  readonly agentHooks: AgentHooks
  /** The hooks that the gateway calls outside of turns. */
  readonly gatewayHooks: GatewayHooks
  /** The plugins that are loaded while the gateway works already. */
  loading(): LoadingPlugins | undefined
  setLoading(loading: LoadingPlugins | undefined): void
  /** Connects `agentHooks` and `gatewayHooks` to `hooks`. Until then they call no callbacks. May be called twice. */
  connect(): void
}

const noop = () => undefined

const noopGatewayHooks: GatewayHooks = {
  hasPreDispatchHooks: () => false,
  preDispatch: async (event) => ({ kind: 'pass', event }),
  messageChanged: noop,
  commandReceived: noop,
  approvalRequested: noop,
  approvalResolved: noop,
  sessionReplaced: noop,
  gatewayStopping: noop,
}

/** Pauses the agent, and ends the pause (flows/pause.ts). */
export interface PauseControl {
  pause(reason: string): Promise<void>
  /** False if there was no pause. */
  resume(): Promise<boolean>
  /** Tells the people of a conversation that their message waits. */
  announce(key: SessionKey): Promise<void>
}

export interface Core {
  readonly events: GatewayEvents
  readonly engine: Engine
  readonly commands: CommandRegistry
  readonly turnResults: EventResults
  readonly runningTurns: RunningTurns
  readonly outbox: Outbox
  readonly hooks: HookRegistry
  readonly commandDecisions: CommandDecisions
  readonly pluginRegistries: PluginRegistries
  readonly approvals: Approvals
  readonly sessionServices: SessionServices
  /** Ends the messages of people who had access by these accounts, and have none now. Rejects `store/…`. */
  endRevoked(before?: readonly PlatformAccount[]): Promise<void>
  /** Ends a message of a person who has no access. Rejects `store/…`. */
  endRevokedMessage(session: SessionKey, seq: number): Promise<void>
  readonly inbox: Inbox
  readonly backgroundTasks: BackgroundTasks
  readonly pause: PauseControl
  readonly pairing: PairingControl
  /** What messages do that arrive while their conversation is busy. */
  busyArrivals(): Promise<BusyArrivals>
  /** What plugins learn about a turn. */
  readonly turnInfoOf: TurnInfoFactory
  readonly turnNotices: TurnNotices
  /** Waits within a turn, which does not count as running meanwhile. */
  pauseTurn(turn: Pick<TurnInfo, 'sessionKey'>, ms: number, signal: AbortSignal): Promise<void>
  /** The session of a terminal with an embedded gateway. */
  embeddedSessionKey(): SessionKey | undefined
}

/** @param approvalModel the model that judges commands, called after the composition */
export function composeCore(context: AppContext, approvalModel: AgentServices['approvalModel']): Core {
  const { options, settings, accountDirectory, store, modelCalls, clock, random, log } = context
  const { emitsEvents } = accountDirectory
  const concurrency = () => settings().agent.max_concurrent_turns
  let lastSession: SessionKey | undefined

  const events = createGatewayEvents({ listeners: options.listeners ?? [], hooks: () => hooks, emitsEvents, log })
  const engine = createEmbeddedEngine({
    log,
    random,
    concurrency,
    onSaturated: (isSaturated) => modelCalls.turnMustWait(concurrency(), isSaturated),
  })
  const commands = createCommandRegistry(undefined, () => settings().quick_commands)
  const turnResults = createEventResults(store)
  const runningTurns = createRunningTurns()
  const outbox = composeOutbox(context, events)
  const pluginRegistries = composePluginRegistries(context, commands)
  const hooks = composeHookRegistry(context, commands, pluginRegistries, {
    accountDirectory,
    adapter: context.platforms.adapter,
    home: options.home,
    stopping: context.stopping,
    store,
    outbox,
    startTask: (task) => backgroundTasks.start(task),
    openTasks: () => backgroundTasks.open(),
    clock,
    log,
  })
  const commandDecisions = createCommandDecisions({
    hooks,
    commands,
    isRunning: runningTurns.isRunning,
    timeoutMs: () => settings().hooks.command_timeout * 1_000,
  })
  const { gatewayHooks, notifyMemory } = pluginRegistries
  const waitInTurn = createTurnWait({ store, engine })
  const turnNotices = createTurnNotices({ store, outbox, clock })
  const approvals = composeApprovals(context, {
    waitInTurn,
    outbox,
    engine,
    events,
    gatewayHooks,
    runningTurns,
    turnNotices,
    model: approvalModel,
  })
  const sessionServices = createSessionServices({
    store,
    engine,
    runningTurns,
    turnResults,
    emit: events.emit,
    clock,
    emitsEvents,
    onSessionReplaced(replaced) {
      gatewayHooks.sessionReplaced(replaced)
      notifyMemory(replaced)
      void approvals.questions.turnEnded(replaced.sessionKey)
    },
  })
  const revokedDeps = { store, stopEvent: sessionServices.stopEvent, clock, log }
  async function endRevoked(before?: readonly PlatformAccount[]): Promise<void> {
    const after = accountDirectory.list()
    const { endRevokedMessages } = await import('../flows/revoked-access.ts')
    await endRevokedMessages(revokedDeps, after, before)
  }
  async function endRevokedMessage(session: SessionKey, seq: number): Promise<void> {
    const { endRevokedMessage } = await import('../flows/revoked-access.ts')
    await endRevokedMessage(revokedDeps, { session_key: session, turn_id: null }, seq)
  }
  const pairing = composePairing(context, outbox, endRevoked)
  const busy = composeBusyArrivals(context, { engine, runningTurns, turnResults, outbox })
  const inbox = composeInbox(context, {
    isOpen: (event) => context.isOpen() || (context.storesForNextStart() && isFromChat(outbox, event)),
    onStored: composeDrainNotices(context, { engine, outbox }),
    onRefused: pairing.refused,
    emit: events.emit,
    preDispatchHooks: gatewayHooks,
    queueKindOf(event) {
      const command = parseCommand(event)
      if (command !== null) return commands.resolve(command.name)?.queue ?? 'turn'
      const { questions } = approvals
      if (questions.open.size === 0) return 'turn'
      return questions.isPlainAnswer(accountDirectory.sessionKey(event.source), event) ? 'control' : 'turn'
    },
    bypassesHooks: commands.bypassesHooks,
    toCommand: (event) => withResetTrigger(event, settings().reset_triggers),
    onWithdrawn(seq, result) {
      // Its attachments may be downloading.
      runningTurns.stopEvent(seq)
      turnResults.publish(seq, result)
    },
    onControlEvent: commandDecisions.onEnqueued,
    stopEvent: sessionServices.stopEvent,
    isBusy: (key, queue) => engine.isBusy(key, queue) || (queue === 'turn' && runningTurns.paused() !== null),
    async arriveBusy(key, event, queue) {
      const arrivals = await busy()
      return queue === 'turn' ? arrivals.arrive(key, event) : arrivals.arriveCommand(key, event, queue === 'urgent')
    },
    wake(key, queue) {
      lastSession = key
      engine.wake(key, queue)
    },
  })
  const backgroundTasks = createBackgroundTasks({ store, inbox, turnResults, clock, log })

  return {
    events,
    engine,
    commands,
    turnResults,
    runningTurns,
    outbox,
    hooks,
    commandDecisions,
    pluginRegistries,
    approvals,
    sessionServices,
    endRevoked,
    endRevokedMessage,
    inbox,
    backgroundTasks,
    busyArrivals: busy,
    turnInfoOf: createTurnInfoFactory(accountDirectory.pluginRouteOf),
    turnNotices,
    pairing,
    pause: composePause(context, { engine, runningTurns, notices: turnNotices }),
    pauseTurn: ({ sessionKey }, ms, signal) =>
      waitInTurn(brand<SessionKey>(sessionKey), () => sleep(ms, signal), signal),
    embeddedSessionKey: () => (options.onlyPlatforms === undefined ? undefined : lastSession),
  }
}

/** Tells the memory of a plugin that a conversation goes on in another session, or with fewer messages. */
function createMemoryNotifier(
  { accountDirectory }: AppContext,
  memory: PluginMemory,
): PluginRegistries['notifyMemory'] {
  return ({ source, ...replaced }) => {
    if (memory.activeProviderName() === undefined) return
    const { platform, chatType, userId = '' } = source
    const role = accountDirectory.access({ source }).allowed ? accountDirectory.authorityOf(source).role : 'guest'
    memory.sessionReplaced({ ...replaced, platform, chatType, userId, role })
  }
}

/** Loads its code with the first message for a busy conversation. */
function composeBusyArrivals(
  { settings, store, stopping, clock, log, failpoint }: AppContext,
  { engine, runningTurns, turnResults, outbox }: Pick<Core, 'engine' | 'runningTurns' | 'turnResults' | 'outbox'>,
): Core['busyArrivals'] {
  let arrivals: Promise<BusyArrivals> | undefined
  return () => {
    arrivals ??= import('../flows/busy/arrivals.ts').then(({ createBusyArrivals }) =>
      createBusyArrivals({
        store,
        outbox,
        engine,
        running: runningTurns,
        turnResults,
        settings,
        stopping,
        clock,
        log,
        failpoint,
      }),
    )
    return arrivals
  }
}

/** Pages, terminals and clients of the API see that a request was refused, and send it again. */
function isFromChat(
  outbox: Outbox,
  { source, internal }: { readonly source: SessionSource; readonly internal?: boolean | undefined },
): boolean {
  return internal !== true && outbox.takesStatus(targetOf(source))
}

/** Only while turns end: a stop without them is short. */
function composeDrainNotices(
  { accountDirectory, settings, store, isDraining, clock, log }: AppContext,
  { engine, outbox }: Pick<Core, 'engine' | 'outbox'>,
): (event: MessageEvent) => void {
  const deps = { store, outbox, sessionKeyOf: accountDirectory.sessionKey, settings, clock, log }
  let loading: Promise<(event: MessageEvent) => Promise<void>> | undefined
  return (event) => {
    if (!isDraining() || engine.load().running === 0) return
    loading ??= import('../flows/busy/drain-notices.ts').then(({ createDrainNotices }) => createDrainNotices(deps))
    loading
      .then((announce) => announce(event))
      .catch((error) => log.error({ event: 'inbox.drain_not_announced', err: error }, 'a notice could not be stored'))
  }
}

function composePause(
  { options, store, clock, log }: AppContext,
  parts: Pick<PauseDeps, 'engine' | 'runningTurns' | 'notices'>,
): PauseControl {
  const deps: PauseDeps = { ...parts, file: options.home.pauseFile, store, clock, log }
  const load = () => import('../flows/pause.ts')
  return {
    pause: async (reason) => (await load()).pauseAgent(deps, reason),
    resume: async () => (await load()).resumeAgent(deps),
    announce: async (key) => (await load()).announcePause(deps, key),
  }
}

function composeOutbox(context: AppContext, events: GatewayEvents): Outbox {
  const { options, config, settings, accountDirectory, platforms, secrets, store, clock, random, log, failpoint } =
    context
  const secretFilter = createSecretFilter(secrets.distinctive)
  return createOutbox({
    store,
    sender: platforms.adapter,
    limitsOf: accountDirectory.limitsOf,
    replyPolicy: accountDirectory.policyOf,
    attachmentPolicy: createAttachmentPolicy({
      home: options.home,
      environment: config.environment,
      secretFilter,
      sandbox: context.sandbox,
      roles: () => settings().roles,
      log,
    }),
    secretFilter,
    onUnauthorised: (platform, account) =>
      platforms.failAccount(platform, account, 'the platform rejected the credentials'),
    onFinished: events.messageFinished,
    clock,
    random,
    sleep,
    log,
    settings,
    failpoint,
  })
}

/** An embedded gateway loads no gateway hooks (contract §1.2). */
function composeHookRegistry(
  { options, config, clock, log }: AppContext,
  commands: CommandRegistry,
  { hooks, loading, connect }: PluginRegistries,
  services: HookServicesDeps,
): HookRegistry {
  return composeHooks({
    home: options.home,
    config,
    commands,
    commandsMayFollow: () => loading() !== undefined,
    acceptAll: options.acceptHooks === true,
    isEmbedded: options.onlyPlatforms !== undefined,
    services: createHookServices(services),
    registerPluginEventHook(event, { id, failsClosed, call }) {
      connect()
      // The program has a time limit of its own.
      return hooks.registerNamed(id, event, call, { timeoutMs: 0, ...(failsClosed ? { fails: 'closed' } : {}) })
    },
    clock,
    log,
  })
}

function composePluginRegistries(context: AppContext, commands: CommandRegistry): PluginRegistries {
  const { settings, accountDirectory, redact, clock, random, log } = context
  const timeoutMs = () => settings().plugins.hook_callback_timeout * 1_000
  const middleware = createMiddleware({ log })
  const hooks = createPluginHooks({
    log,
    now: clock,
    sleep,
    timeoutMs,
    toolErrors: () => settings().plugins.pre_tool_call_errors,
  })
  // Modules keep these objects. Replacing their methods therefore takes effect at the next call, in running turns, too.
  const memory = { ...noopPluginMemory }
  const agentHooks = { ...noopAgentHooks }
  const gatewayHooks = { ...noopGatewayHooks }
  let isConnected = false
  let loading: LoadingPlugins | undefined
  const isUnknownCommand = (event: MessageEvent) => {
    const command = parseCommand(event)
    return command !== null && commands.resolve(command.name) === undefined
  }
  return {
    middleware,
    hooks,
    memory,
    notifyMemory: createMemoryNotifier(context, memory),
    sections: createPromptSections({ log, now: clock, sleep, timeoutMs }),
    skills: createPluginSkills(),
    daemons: createDaemons({ log, clock, sleep, random }),
    agentHooks,
    gatewayHooks,
    loading: () => loading,
    setLoading(newLoading) {
      loading = newLoading
    },
    connect() {
      if (isConnected) return
      isConnected = true
      const streamReasoning = () => settings().plugins.stream_reasoning_deltas
      const routeOf: GatewayHooksDeps['routeOf'] = (source) => accountDirectory.pluginRouteOf({ source })
      const roleOf: GatewayHooksDeps['roleOf'] = (source) =>
        accountDirectory.access({ source }).allowed ? accountDirectory.authorityOf(source).role : null
      Object.assign(agentHooks, createAgentHooks({ hooks, memory, streamReasoning, redact, log }))
      Object.assign(
        gatewayHooks,
        createGatewayHooks({ hooks, routeOf, roleOf, loading: () => loading, isUnknownCommand, log }),
      )
    },
  }
}

/** Read once: a command of the agent must not switch it on by an edit of `.env`. */
function isYoloMode({ values }: Environment): boolean {
  return /^(?:1|true|yes|on)$/i.test(values['HERMES_YOLO_MODE'] ?? '')
}

interface ApprovalParts extends Pick<Core, 'outbox' | 'engine' | 'events' | 'runningTurns' | 'turnNotices'> {
  readonly model: AgentServices['approvalModel']
  readonly gatewayHooks: GatewayHooks
  readonly waitInTurn: TurnWait
}

function composeApprovals(context: AppContext, parts: ApprovalParts): Approvals {
  const { options, config, accountDirectory, platforms, settings } = context
  const { store, redact, stopping, isOpen, storesForNextStart, clock, log, failpoint } = context
  return createApprovals({
    store,
    outbox: parts.outbox,
    engine: parts.engine,
    accountDirectory,
    clock,
    log,
    settings,
    emit: parts.events.emit,
    adapter: platforms.adapter,
    // The turn that asked goes on at the next start, and finds the answer.
    isOpen: () => isOpen() || storesForNextStart(),
    plugins: parts.gatewayHooks,
    redact,
    stopping,
    waitInTurn: parts.waitInTurn,
    abortTurn: parts.runningTurns.abort,
    stopTurn: parts.runningTurns.stop,
    notices: parts.turnNotices,
    home: options.home,
    reloadConfig: config.reload,
    yoloMode: isYoloMode(config.environment()),
    model: parts.model,
    failpoint,
  })
}

type InboxParts = Required<
  Pick<
    InboxDeps,
    | 'isOpen'
    | 'onStored'
    | 'onRefused'
    | 'emit'
    | 'preDispatchHooks'
    | 'queueKindOf'
    | 'toCommand'
    | 'bypassesHooks'
    | 'onWithdrawn'
    | 'onControlEvent'
    | 'stopEvent'
    | 'isBusy'
    | 'arriveBusy'
    | 'wake'
  >
>

function composeInbox(context: AppContext, parts: InboxParts): Inbox {
  const { accountDirectory, settings, store, clock, log, failpoint } = context
  return createInbox({
    store,
    clock,
    log,
    failpoint,
    checkAccess: accountDirectory.access,
    authorityOf: accountDirectory.lookUpAuthority,
    editPolicyOf: accountDirectory.editPolicyOf,
    emitsEvents: accountDirectory.emitsEvents,
    sessionKeyOf: accountDirectory.sessionKey,
    maxMessageBytes: () => settings().inbox.max_message_kb * 1024,
    ...parts,
  })
}
