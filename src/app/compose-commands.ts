/**
 * Composes what runs the slash commands of a session.
 */

import type { AgentConfig } from '../agent/config.ts'
import { findProvider } from '../agent/models/catalogue.ts'
import { isYolo, toggleYolo } from '../approvals/queries.ts'
import type { CommandServices, ConfiguredChoices, GatewayAdmin } from '../commands/command.ts'
import type { AgentCommandDeps } from '../flows/commands/agent-commands.ts'
import { type CommandDispatcherDeps, createCommandDispatcher } from '../flows/commands/command-dispatcher.ts'
import type { RunAgentCommand } from '../flows/environments/turn-access.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { displaySettings } from '../flows/turn/config.ts'
import { showsFooter, showsThinking } from '../flows/turn/output.ts'
import { laterUrgentEvents } from '../inbox/queries.ts'
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { sessionIdAt } from '../lib/ids.ts'
import { toShortLine } from '../lib/redact.ts'
import type { SessionKey } from '../message/ids.ts'
import { targetOf } from '../message/source.ts'
import { changeSessionSetting, ensureSession, epochOptions, readSessionSettings } from '../sessions/session-state.ts'
import type { VisibleSessions } from '../store/sqlite/visible-sessions.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface CommandRuntime {
  /** Runs the slash commands of one session. */
  runCommand(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly runAgentCommand: RunAgentCommand
}

type Agent = Pick<
  AgentRuntime,
  'agentServices' | 'compressSession' | 'plugins' | 'runningSubagents' | 'delegatedTurns' | 'skills' | 'mcp' | 'cron'
>

export function composeCommandRuntime(context: AppContext, core: Core, agentRuntime: Agent): CommandRuntime {
  const { accountDirectory, store, isDraining, clock, log, failpoint } = context
  const visibleSessions = lazyVisibleSessions(context.options.home.databaseFile)
  const services = composeCommandServices(context, core, agentRuntime, visibleSessions)
  const refuse: CommandDispatcherDeps['refuse'] & AgentCommandDeps['refuse'] = async (
    definition,
    { authority, source },
  ) => {
    if (authority.role === 'owner') return undefined
    const { refuseCommand } = await import('../flows/access/command-ceiling.ts')
    const isShared = accountDirectory.isShared(source)
    return refuseCommand(definition, authority, accountDirectory.commandTiersOf(source), isShared)
  }
  const runCommand = createCommandDispatcher({
    store,
    outbox: core.outbox,
    turnResults: core.turnResults,
    commands: core.commands,
    services,
    answerPlain: core.approvals.questions.answerPlain,
    confirm: core.approvals.confirmCommand,
    emit: core.events.emit,
    notifyListeners: core.events.notifyListeners,
    commandDecisions: core.commandDecisions,
    isRunning: core.runningTurns.isRunning,
    onCommand: (command) => core.pluginRegistries.gatewayHooks.commandReceived(command),
    authorityOf: accountDirectory.authorityOf,
    refuse,
    isRevoked: accountDirectory.isRevoked,
    isAllowed: ({ source }) => accountDirectory.access({ source }).allowed,
    log,
    clock,
    failpoint,
    isDraining,
    emitsEvents: accountDirectory.emitsEvents,
  })
  return {
    runCommand,
    runAgentCommand: composeAgentCommands(context, core, { services, refuse, visibleSessions, ...agentRuntime }),
  }
}

/** One for all that read earlier conversations, because it has a thread. */
function lazyVisibleSessions(database: string): () => Promise<VisibleSessions> {
  let created: Promise<VisibleSessions> | undefined
  return () => {
    created ??= import('../store/sqlite/visible-sessions.ts').then(({ createVisibleSessions }) =>
      createVisibleSessions(database),
    )
    return created
  }
}

function composeAgentCommands(
  { log, store }: AppContext,
  { commands, hooks, outbox }: Core,
  {
    services,
    refuse,
    plugins,
    visibleSessions,
  }: Pick<AgentCommandDeps, 'refuse'> &
    Pick<AgentRuntime, 'plugins'> & { services: CommandServices; visibleSessions: () => Promise<VisibleSessions> },
): RunAgentCommand {
  return async (turn, args, signal) => {
    const [{ runAgentCommand }, { list }] = await Promise.all([
      import('../flows/commands/agent-commands.ts'),
      visibleSessions(),
    ])
    const deps: AgentCommandDeps = {
      commands,
      runSlashCommand: (definition, command) => definition.run(command, services),
      refuse,
      async readSessions(request, stop) {
        if (request.words !== undefined) await (await import('../store/search-index.ts')).indexNewMessages(store)
        const rows = await list(request, stop)
        return rows.map((row) => ({ ...row, text: toShortLine(row.text, maxRowChars, outbox.withhold) }))
      },
      plugins: async () => (await plugins.list()).map(({ id, state }) => `${id}  ${state}`),
      async jobs({ source, authority }) {
        const listed = await (await services.jobs()).run({ action: 'list' }, { source, authority })
        return 'problem' in listed ? [listed.problem] : listed.lines
      },
      hooks: () => hooks.list().map(({ name, state }) => `${name}  ${state}`),
      log,
    }
    return runAgentCommand(deps, turn, args, signal)
  }
}

function composeCommandServices(
  context: AppContext,
  {
    sessionServices,
    outbox,
    approvals,
    commands,
    commandDecisions,
    backgroundTasks,
    busyArrivals,
    engine,
    pluginRegistries,
    pause,
  }: Core,
  { agentServices, compressSession, runningSubagents, delegatedTurns, skills, mcp, cron }: Agent,
  visibleSessions: () => Promise<VisibleSessions>,
): CommandServices {
  const { options, settings, accountDirectory, platforms, store, redact, degraded, startedAt, clock, log } = context
  const { stopTurn, resetSession, sessionStatus } = sessionServices
  let requestedTasks: ReturnType<CommandServices['tasks']> | undefined
  let gatewayAdmin: GatewayAdmin | undefined
  return {
    stopTurn(key, { source, authority }) {
      const ownOnly = authority.role === 'guest' && accountDirectory.isShared(source)
      return stopTurn(key, ownOnly ? (source.userId ?? '') : undefined)
    },
    resetSession,
    sessionStatus,
    compressSession,
    async conversations() {
      const [{ createConversationServices }, visible] = await Promise.all([
        import('../flows/commands/conversations.ts'),
        visibleSessions(),
      ])
      const { changeConversation, sessionReplaced } = sessionServices
      const { isShared } = accountDirectory
      return createConversationServices({
        store,
        visibleSessions: visible,
        changeConversation,
        sessionReplaced,
        sessionRewound: ({ sessionKey, source, sessionId }) =>
          pluginRegistries.notifyMemory({
            sessionKey,
            source,
            oldSessionId: sessionId,
            newSessionId: sessionId,
            reason: 'undo',
          }),
        isShared,
        clock,
      })
    },
    tasks() {
      requestedTasks ??= import('../flows/tasks/requested-tasks.ts').then(({ createRequestedTasks }) =>
        createRequestedTasks({
          tasks: backgroundTasks,
          stopEvent: sessionServices.stopEvent,
          running: runningSubagents,
          handInUnstarted: async (task) => (await delegatedTurns()).handInUnstarted(task),
          sessionKeyOf: accountDirectory.sessionKey,
          settingsOf: (key) => store.run(() => readSessionSettings(key)),
          clock,
        }),
      )
      return requestedTasks
    },
    async jobs() {
      const { createJobServices } = await import('../flows/cron/job-services.ts')
      return createJobServices(cron.open)
    },
    async checkpoints() {
      const { createCheckpointServices } = await import('../flows/environments/checkpoints.ts')
      return createCheckpointServices({ checkpoints: await agentServices.checkpoints(), settings, agentServices })
    },
    homeChannels: async () =>
      (await import('../flows/delivery/home-channels.ts')).readHomeChannels({ store, accountDirectory }),
    modelKeys: () => listKeys(context, agentServices),
    settings: (key) => store.run(() => readSessionSettings(key)),
    changeSetting: (key, name, value) => store.run(() => changeSessionSetting(key, name, value)),
    display(source, chosen) {
      const { platform } = source
      const { toolProgress } = displaySettings(settings(), platform, chosen)
      const hasFooter = showsFooter(settings().display, platform, chosen)
      const permitsVerbose = settings().display.tool_progress_command
      return {
        toolProgress,
        permitsVerbose,
        hasFooter,
        showsThinking: showsThinking(settings().display, platform, chosen),
        showsProgress: outbox.takesStatus(targetOf(source)),
      }
    },
    choices: () => configuredChoices(settings(), agentServices.describe().provider),
    async voices(source) {
      const { describeVoices } = await import('../flows/models/voices.ts')
      const sendsVoices = platforms.adapter(targetOf(source))?.sendsAttachments === true
      return await describeVoices(await agentServices.media(), settings(), sendsVoices)
    },
    installation: async () => (await import('../flows/commands/installation.ts')).describeInstallation(options.home),
    runQuickCommand: composeQuickCommands(
      { store, log, redact },
      { commands, commandDecisions },
      agentServices.openShell,
    ),
    redact,
    withhold: outbox.withhold,
    async busyModes() {
      const [{ createBusyServices }, arrivals] = await Promise.all([
        import('../flows/busy/commands.ts'),
        busyArrivals(),
      ])
      const maxMessageBytes = () => settings().inbox.max_message_kb * 1024
      return createBusyServices({ store, arrivals, engine, settings, maxMessageBytes })
    },
    answerQuestion: approvals.questions.answerTyped,
    pendingQuestion: approvals.questions.oldestWaiting,
    version: options.version,
    commands: commands.list,
    skillCommands: skills.readMenu,
    ...composeModelServices({ options, store, accountDirectory, settings }, agentServices),
    gatewayStatus() {
      const { model, provider } = agentServices.describe()
      return {
        model,
        provider,
        uptimeMs: clock() - startedAt,
        platforms: platforms.health(),
        degraded: degraded(),
        background: backgroundTasks.open(),
      }
    },
    toggleYolo: (key, source) =>
      store.run(function* () {
        const now = clock()
        const { session_id } = yield* ensureSession(epochOptions(source, key, sessionIdAt(now), now))
        return yield* toggleYolo(session_id, source.userId ?? '', now)
      }),
    isYolo: (sessionId) => store.run(() => isYolo(sessionId)),
    accessReason: (source) => accountDirectory.access({ source }).reason,
    async permissionsOf(authority, source) {
      const { permittedCommands } = await import('../flows/access/command-ceiling.ts')
      const commands =
        authority.role === 'owner' ? ['*'] : permittedCommands(authority, accountDirectory.commandTiersOf(source))
      return { role: authority.role, tools: agentServices.toolListOf(authority), commands }
    },
    async gatewayAdmin() {
      const { createGatewayAdmin } = await import('../flows/commands/gateway-admin.ts')
      const restart = options.onlyPlatforms === undefined ? options.onRestartRequest : undefined
      gatewayAdmin ??= createGatewayAdmin({ store, outbox, accountDirectory, clock, log, startedAt, restart })
      return gatewayAdmin
    },
    reloadMcp: mcp.reload,
    pauseAgent: pause.pause,
    resumeAgent: pause.resume,
  }
}

async function listKeys({ options, settings, clock }: AppContext, { selection }: AgentServices): Promise<string[]> {
  const { reportKeys } = await import('../flows/models/key-status.ts')
  const { fallback_providers: fallbacks } = settings()
  const facts = { path: options.home.authFile, selection: selection(), fallbacks, now: clock() }
  return reportKeys(facts).lines.map(({ text }) => text)
}

/** The code is loaded where a conversation may have a model of its own. */
export function composeModelServices(
  {
    options,
    store,
    accountDirectory,
    settings,
  }: Pick<AppContext, 'options' | 'store' | 'accountDirectory' | 'settings'>,
  agentServices: AgentServices,
): Pick<CommandServices, 'models' | 'modelOf'> {
  let services: ReturnType<CommandServices['models']> | undefined
  const models: CommandServices['models'] = () => {
    services ??= import('../flows/commands/model-commands.ts').then(({ createModelServices }) =>
      createModelServices({ store, models: agentServices, home: options.home, settings }),
    )
    return services
  }
  return {
    models,
    async modelOf({ sessionKey, source }) {
      const chosen = await store.run(() => readSessionSettings(sessionKey))
      const isConfigured = chosen.model === undefined && accountDirectory.policyOf(source).models === undefined
      if (isConfigured) return { ...agentServices.describe(), contextLength: settings().context_length }
      return await (await models()).current({ sessionKey, source })
    },
  }
}

/** Of a session or message that is listed for the agent. */
const maxRowChars = 200

function configuredChoices(
  { personalities, personality, reasoning_effort }: AgentConfig,
  provider: string,
): ConfiguredChoices {
  return {
    personalities: Object.entries(personalities).map(([name, entry]) => ({
      name,
      description: typeof entry === 'string' ? '' : entry.description,
    })),
    personality,
    reasoningEffort: reasoning_effort,
    // The Responses API encrypts it.
    givesThinking: findProvider(provider)?.entry.apiMode !== 'codex_responses',
  }
}

function composeQuickCommands(
  { store, log, redact }: Pick<AppContext, 'store' | 'log' | 'redact'>,
  { commands, commandDecisions }: Pick<Core, 'commands' | 'commandDecisions'>,
  openShell: AgentServices['openShell'],
): CommandServices['runQuickCommand'] {
  return async (command, context) => {
    const { runQuickCommand } = await import('../flows/commands/quick-command.ts')
    const { sessionKey: key, message } = context
    // After a crash a `/stop` is known from the store alone, and may have ended before the command did.
    const later = message === undefined ? [] : await store.run(() => laterUrgentEvents(key, message.seq))
    const stopped = later.some((payload) => commands.bypassesHooks(parseStoredEvent(payload)))
    return await commandDecisions.untilSuperseded({ key, seq: message?.seq }, (superseded) => {
      const signal = stopped ? AbortSignal.abort() : AbortSignal.any([context.signal, superseded])
      return runQuickCommand({ openShell, redact, log }, command, { ...context, signal })
    })
  }
}
