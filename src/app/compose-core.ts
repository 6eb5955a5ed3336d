/**
 * Composes the modules on the route of a message (inbox, sessions, outbox) with hooks, approvals and the registries of
 * plugins. What runs the queues is composed of these in compose-agent.ts and compose-commands.ts.
 */
import type { Auxiliary } from '../agent/models/auxiliary.ts'
import { createModelCallMonitor } from '../agent/models/model-call-monitor.ts'
import { createTurnInfoFactory } from '../agent/support/agent-hooks.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import { createEmbeddedEngine, createPlaces } from '../engine/embedded-engine.ts'
import type { Engine } from '../engine/engine.ts'
import { createPairingControl } from '../flows/access/pairing-control.ts'
import { createApprovals } from '../flows/approvals/approvals.ts'
import { createAttachmentPolicy } from '../flows/chat/attachment-policy.ts'
import { createCommandDecisions } from '../flows/commands/command-decision.ts'
import { createGatewayEvents, type GatewayEvents } from '../flows/events/gateway-events.ts'
import { createPauseControl } from '../flows/lifecycle/pause-control.ts'
import { createHookServices } from '../flows/plugins/hook-host-api.ts'
import { createSessionServices } from '../flows/sessions/session-services.ts'
import { createBackgroundTasks } from '../flows/tasks/background-tasks.ts'
import type { AgentEnvironments } from '../flows/tools/agent-services.ts'
import { createTurnNotices } from '../flows/turn/turn-notices.ts'
import { createEventResults, createInbox, type Inbox } from '../inbox/inbox.ts'
import { lazy } from '../lib/cache.ts'
import { brand } from '../lib/ids.ts'
import { createSecretFilter } from '../lib/redact.ts'
import { sleep } from '../lib/timers.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { cronPlatform, type SessionSource, targetOf } from '../message/source.ts'
import { createOutbox, type Outbox } from '../outbox/outbox.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import { createRunningTurns, createTurnWaits } from '../sessions/running-turns.ts'
import { platformOf } from '../sessions/session-key.ts'
import { composeHooks } from './compose-hooks.ts'
import { composePluginRegistries, type PluginRegistries } from './compose-plugin-registries.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

/** Parts of the agent, which is composed later. They are called after the composition. */
export interface LaterParts extends Pick<AgentEnvironments, 'sandbox'> {
  readonly auxiliary: Auxiliary
}

export function composeCore(context: AppContext, commands: CommandRegistry, { auxiliary, sandbox }: LaterParts): Core {
  const { options, mode, settings, accountDirectory, store, clock, random, log } = context
  const modelCalls = createModelCallMonitor({ log })

  const events = createGatewayEvents({
    listeners: options.listeners ?? [],
    emitsEvents: accountDirectory.emitsEvents,
    log,
  })
  const jobPlaces = createPlaces(() => settings().cron.max_parallel_jobs)
  const engine = createEmbeddedEngine({
    log,
    random,
    settings,
    places: { kindOf: platformOf, ofKind: new Map([[cronPlatform, jobPlaces]]) },
    onSaturated: modelCalls.turnMustWait,
  })
  const turnResults = createEventResults(store)
  const runningTurns = createRunningTurns()
  const outbox = composeOutbox(context, events, sandbox)
  const pluginRegistries = composePluginRegistries(context, commands)
  const hookServices = createHookServices(context, outbox, () => backgroundTasks)
  const hooks = composeHooks(context, commands, hookServices, { ...context, registries: pluginRegistries })
  events.connectHooks(hooks)
  const decisionTimeoutMs = () => settings().hooks.command_timeout * 1_000
  const commandDecisions = createCommandDecisions(hooks, commands, runningTurns, decisionTimeoutMs)
  const { gatewayHooks, notifyMemory } = pluginRegistries
  const { waitInTurn, isPaused } = createTurnWaits(store, engine)
  const turnNotices = createTurnNotices(store, outbox, clock)
  const approvals = createApprovals(context, {
    waitInTurn,
    outbox,
    engine,
    events,
    gatewayHooks,
    runningTurns,
    turnNotices,
    auxiliary,
  })
  const sessionServices = createSessionServices({
    store,
    engine,
    runningTurns,
    turnResults,
    emit: events.emit,
    clock,
    emitsEvents: events.emitsEvents,
    onSessionReplaced(replaced) {
      gatewayHooks.sessionReplaced(replaced)
      notifyMemory(replaced)
      void approvals.questions.turnEnded(replaced.sessionKey)
    },
  })
  const { stopEvent } = sessionServices
  async function endRevoked(before?: readonly PlatformAccount[]): Promise<void> {
    const after = accountDirectory.list()
    const { endRevokedMessages } = await import('../flows/access/revoked-access.ts')
    await endRevokedMessages(context, stopEvent, after, before)
  }
  async function endRevokedMessage(session: SessionKey, seq: number): Promise<void> {
    const { endRevokedMessage } = await import('../flows/access/revoked-access.ts')
    await endRevokedMessage(context, stopEvent, { session_key: session, turn_id: null }, seq)
  }
  const pairing = createPairingControl(context, outbox, endRevoked)
  const busy = composeBusyArrivals(context, { engine, runningTurns, turnResults, outbox })
  let embeddedSession: SessionKey | undefined
  const wakeEmbedded: Engine['wake'] = (key, queue) => {
    embeddedSession = key
    engine.wake(key, queue)
  }
  const inbox = composeInbox(context, {
    engine: mode.staysUp ? engine : { ...engine, wake: wakeEmbedded },
    ...{ events, outbox, commands, approvals, commandDecisions, sessionServices, runningTurns, turnResults },
    ...{ gatewayHooks, busy, onRefused: pairing.refused },
  })
  const backgroundTasks = createBackgroundTasks(context, inbox, turnResults)

  return {
    events,
    engine,
    jobPlaces,
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
    modelCalls,
    pairing,
    pause: createPauseControl(context, { engine, runningTurns, turnNotices }),
    isTurnPaused: isPaused,
    pauseTurn: ({ sessionKey }, ms, signal) =>
      waitInTurn(brand<SessionKey>(sessionKey), () => sleep(ms, signal), signal),
    embeddedSessionKey: () => embeddedSession,
  }
}

/** Loads its code with the first message for a busy conversation. */
function composeBusyArrivals(
  { settings, store, lifecycle: { stopping }, clock, log, failpoint }: AppContext,
  { engine, runningTurns, turnResults, outbox }: Pick<Core, 'engine' | 'runningTurns' | 'turnResults' | 'outbox'>,
): Core['busyArrivals'] {
  return lazy(() =>
    import('../flows/busy/arrivals.ts').then(({ createBusyArrivals }) =>
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
    ),
  )
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
  { accountDirectory, settings, store, clock, log }: AppContext,
  { engine, outbox }: Pick<Core, 'engine' | 'outbox'>,
): (event: MessageEvent) => void {
  const deps = { store, outbox, settings, clock, log }
  let loading: Promise<(event: MessageEvent) => Promise<void>> | undefined
  return (event) => {
    if (engine.load().running === 0) return
    loading ??= import('../flows/busy/drain-notices.ts').then(({ createDrainNotices }) =>
      createDrainNotices(deps, accountDirectory.sessionKey),
    )
    loading
      .then((announce) => announce(event))
      .catch((error) => log.error({ event: 'inbox.drain_not_announced', err: error }, 'a notice could not be stored'))
  }
}

function composeOutbox(context: AppContext, events: GatewayEvents, sandbox: LaterParts['sandbox']): Outbox {
  const { settings, accountDirectory, platforms, secrets, store, clock, random, log, failpoint } = context
  const secretFilter = createSecretFilter(secrets.distinctive)
  return createOutbox({
    store,
    sender: platforms.adapter,
    limitsOf: accountDirectory.limitsOf,
    replyPolicy: accountDirectory.policyOf,
    attachmentPolicy: createAttachmentPolicy(context, secretFilter, sandbox),
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

interface InboxParts
  extends Pick<
      Core,
      'engine' | 'events' | 'outbox' | 'commands' | 'approvals' | 'commandDecisions' | 'sessionServices'
    >,
    Pick<Core, 'runningTurns' | 'turnResults'> {
  readonly gatewayHooks: PluginRegistries['gatewayHooks']
  readonly busy: Core['busyArrivals']
  readonly onRefused: Core['pairing']['refused']
}

function composeInbox(context: AppContext, parts: InboxParts): Inbox {
  const { accountDirectory, settings, lifecycle, store, clock, log, failpoint } = context
  const { engine, events, outbox, commands, approvals, runningTurns, turnResults } = parts
  return createInbox({
    store,
    clock,
    log,
    failpoint,
    accounts: accountDirectory,
    settings,
    lifecycle,
    storesForNextStart: (event) => lifecycle.storesForNextStart() && isFromChat(outbox, event),
    onStoredForNextStart: composeDrainNotices(context, { engine, outbox }),
    onRefused: parts.onRefused,
    emit: events.emit,
    emitsMessageEvents: events.emitsMessageEvents,
    preDispatchHooks: parts.gatewayHooks,
    commands,
    questions: approvals.questions,
    onWithdrawn(seq, result) {
      // Its attachments may be downloading.
      runningTurns.stopEvent(seq)
      turnResults.publish(seq, result)
    },
    onControlEvent: parts.commandDecisions.onEnqueued,
    stopEvent: parts.sessionServices.stopEvent,
    engine,
    running: runningTurns,
    async arriveBusy(key, event, queue) {
      const arrivals = await parts.busy()
      return queue === 'turn'
        ? (seq, now) => arrivals.arrive(key, event, seq, now)
        : (seq) => arrivals.arriveCommand(key, event, seq, queue === 'urgent')
    },
  })
}
