/**
 * Composes what a turn needs besides the loop: models, tools and their services.
 */
import type { ProviderSettings } from '../agent/models/create-provider.ts'
import type { ToolServices } from '../agent/tools/built-in-tools.ts'
import type { AskUser } from '../agent/tools/clarify.ts'
import type { ScheduleJob } from '../agent/tools/cronjob.ts'
import type { ChatMessages } from '../agent/tools/send-message.ts'
import type { ToolCaller, ToolContext } from '../agent/tools/tool.ts'
import type { Approvals } from '../flows/approvals/approvals.ts'
import { type SkillAccess, withheldVariables } from '../flows/commands/skill-access.ts'
import type { CronAccess } from '../flows/cron/cron-access.ts'
import type { SendingTurn } from '../flows/delivery/chat-messages.ts'
import type { RunAgentCommand } from '../flows/environments/sandbox-sockets.ts'
import type { McpAccess } from '../flows/mcp/mcp-access.ts'
import type { ModelKeys } from '../flows/models/model-keys.ts'
import type { PluginManager } from '../flows/plugins/plugin-manager.ts'
import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import type { AgentServices, CommandReportAccess } from '../flows/tools/agent-services.ts'
import { createAgentServices } from '../flows/tools/create-agent-services.ts'
import type { ResultFiles } from '../flows/tools/result-files.ts'
import { lazy } from '../lib/cache.ts'
import { isAttended } from '../message/event.ts'
import { declaredToolsets } from '../platforms/registry.ts'
import { sessionsWithSetting } from '../sessions/session-state.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface AgentParts {
  /** Opens scheduled jobs. */
  readonly cron: CronAccess['open']
  readonly mcpTools: McpAccess['tools']
  readonly sessionServers: McpAccess['sessionServers']
  readonly pluginTools: PluginManager['tools']
  readonly pluginEnvironments: PluginManager['environment']
  readonly ownMemory: () => Promise<OwnMemory>
  readonly skills: SkillAccess['load']
  /** Runs a `hermes` command that a command of the agent has called. */
  readonly runAgentCommand: RunAgentCommand
}

export function composeAgentServices(
  context: AppContext,
  core: Core,
  { mcpTools, sessionServers, pluginTools, pluginEnvironments, ownMemory, skills, runAgentCommand, cron }: AgentParts,
): AgentServices {
  const { options, mode, settings, config, accountDirectory, secrets, platforms, problems, log } = context
  const { turnNotices, runningTurns, modelCalls } = core
  const reports = composeCommandReports(context, core)
  const loadAuxiliaryCalls = lazy(() => import('../sessions/auxiliary-calls.ts'))
  return createAgentServices({
    environmentKinds: new Map(),
    home: options.home,
    log,
    settings,
    environment: config.environment,
    commandLine: options.commandLine,
    pluginTools,
    pluginEnvironments,
    mcpTools,
    sessionServers,
    platformToolsets: declaredToolsets(platforms.catalogue),
    skills,
    policyOf: accountDirectory.policyOf,
    isShared: accountDirectory.isShared,
    turnAccess: { secrets, ended: runningTurns.ended, run: runAgentCommand },
    modelCalls,
    auxiliaryCalls: {
      middleware: core.pluginRegistries.middleware,
      pause: core.pauseTurn,
      clock: context.clock,
      random: context.random,
      failpoint: context.failpoint,
      async record(call) {
        const { recordAuxiliaryCall } = await loadAuxiliaryCalls()
        await context.store.run(() => recordAuxiliaryCall(call, context.clock()))
      },
    },
    turnInfoOf: core.turnInfoOf,
    openModelKeys: (selection) => openModelKeys(context, modelCalls, selection),
    notices: turnNotices,
    toolServices: {
      memory: async (turn) => (await ownMemory()).accessOf(turn),
      recallOf: composeRecall(context),
      showFileOf: composeShownFiles(core),
      askUserOf: createAskUserOf(core.approvals),
      ...(mode.staysUp && {
        chatMessagesOf: ({ turn, callId }: ToolCaller) => composeChatMessages(context, core, turn, callId),
        schedule: composeScheduling(cron),
        watchesOf: reports.watchesOf,
      }),
    },
    store: context.store,
    resultFiles: composeResultFiles(context),
    commandReports: mode.staysUp ? reports : undefined,
    onSandbox: (sandbox) => {
      problems.commands.sandbox = sandbox?.reason ?? ''
    },
    async announceMissingSandbox({ authority, event }) {
      const { role, chatType, platform, userId = '' } = authority
      if (event === undefined || role !== 'owner' || chatType !== 'dm') return
      await turnNotices.withoutSandbox(event, `${platform}:${userId}`)
    },
    announceEnvironment: ({ event, id }, text) => turnNotices.preparingEnvironment(event, id, text),
    // A file that the agent edits must stay intact, so words of everyday text are not replaced.
    redact: secrets.redactKnown,
    withheld: withheldVariables(platforms.catalogue),
  })
}

/** Only the turn of a person, or of a task, asks: neither a sub-agent nor a plugin outside of turns does. */
export function createAskUserOf({ askUserFor }: Pick<Approvals, 'askUserFor'>) {
  return ({ sessionId, turn, callId }: ToolContext): AskUser | undefined =>
    turn.event === undefined || sessionId !== turn.sessionId ? undefined : askUserFor({ turnId: turn.id, callId })
}

/** Loaded with the first search. */
function composeRecall({ options, store }: AppContext): NonNullable<ToolServices['recallOf']> {
  const load = lazy(async () => {
    const { createSessionRecall } = await import('../flows/sessions/session-recall.ts')
    return createSessionRecall(options.home.databaseFile, store)
  })
  return ({ sessionId, sessionKey, event, authority }) => {
    if (sessionKey === undefined || event === undefined) return undefined
    return async (request, signal) =>
      (await load()).forTurn({ sessionId, sessionKey, event, authority })(request, signal)
  }
}

/** Loaded with the first file. */
function composeShownFiles({ outbox }: Core): NonNullable<ToolServices['showFileOf']> {
  return ({ turn: { id, sessionKey, event, authority }, callId }) => {
    if (event === undefined || sessionKey === undefined || !isAttended(event)) return undefined
    return async (file) => {
      const { showFile } = await import('../flows/delivery/show-file.ts')
      return showFile(outbox, { id, sessionKey, event, authority }, callId, file)
    }
  }
}

/** Loaded with the first command that the agent waits for. A process for one command does not wait for what goes on. */
function composeCommandReports(
  context: AppContext,
  core: Core,
): CommandReportAccess & Required<Pick<ToolServices, 'watchesOf'>> {
  const load = lazy(() =>
    import('../flows/environments/command-reports.ts').then(({ createCommandReports }) =>
      createCommandReports(context, core),
    ),
  )
  return {
    watchesOf({ sessionId, callId, turn: { sessionId: ofTurn, id, sessionKey, event, authority } }) {
      // The commands of a sub-agent end with it.
      if (event === undefined || sessionKey === undefined || !isAttended(event) || sessionId !== ofTurn)
        return undefined
      const turn = { id, sessionKey, event, authority }
      return {
        start: async (entry, wanted) => (await load()).start(turn, callId, entry, wanted),
        claim: async (entry) => (await load.made())?.claim(entry),
      }
    },
    async reportLost() {
      const keys = await context.store.run(() => sessionsWithSetting('commands'))
      if (keys.length > 0) await (await load()).reportLost(keys)
    },
    close: () => void load.made()?.then((reports) => reports.close()),
  }
}

/** Loaded with the first result that is too long, or when there are files of earlier ones. */
function composeResultFiles({ options, store, log }: AppContext): ResultFiles {
  const directory = options.home.results
  const load = async () => (await import('../flows/tools/result-files.ts')).createResultFiles(directory, { store, log })
  return {
    shorten: async (call, result, maxChars) => (await load()).shorten(call, result, maxChars),
    of: async (turnId) => (await load()).of(turnId),
  }
}

/** Loaded with the first job that the agent schedules. */
function composeScheduling(open: CronAccess['open']): ScheduleJob {
  return async (action, { turn: { id, event, authority }, callId, signal }) => {
    const { scheduleForAgent } = await import('../flows/cron/job-services.ts')
    signal.throwIfAborted()
    return await scheduleForAgent(open, action, { source: event?.source, authority, key: `${id}:${callId}` })
  }
}

/** Loaded with the first message to another chat. */
function composeChatMessages(context: AppContext, core: Core, turn: SendingTurn, callId: string): ChatMessages {
  const load = async () => {
    const { createChatMessages } = await import('../flows/delivery/chat-messages.ts')
    return createChatMessages(context, core.outbox, turn, callId)
  }
  return {
    prepare: async (message, signal) => (await load()).prepare(message, signal),
    list: async (signal) => (await load()).list(signal),
  }
}

async function openModelKeys(
  context: AppContext,
  modelCalls: Core['modelCalls'],
  selection: () => ProviderSettings,
): Promise<ModelKeys> {
  const { options, settings, secrets, clock, random, log, failpoint } = context
  const { createModelKeys } = await import('../flows/models/model-keys.ts')
  const path = options.home.authFile
  const { pictures: picturesFolder } = options.home
  return createModelKeys({
    path,
    picturesFolder,
    settings,
    selection,
    secrets,
    modelCalls,
    clock,
    random,
    log,
    failpoint,
  })
}
