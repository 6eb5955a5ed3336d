/**
 * The built-in slash commands in the order of menus, each with the port that it receives. A new command is its own file and one
 * line here. The code behind a port is loaded when its command runs.
 */
import { isYolo } from '../approvals/queries.ts'
import {
  branchCommand,
  insightsCommand,
  modelCommand,
  personalityCommand,
  reasoningCommand,
  resumeCommand,
  retryCommand,
  rollbackCommand,
  sessionsCommand,
  titleCommand,
  undoCommand,
  usageCommand,
} from '../commands/built-in/conversation.ts'
import { reloadMcpCommand, restartCommand, sethomeCommand } from '../commands/built-in/gateway.ts'
import {
  commandsCommand,
  debugCommand,
  helpCommand,
  startCommand,
  statusCommand,
  updateCommand,
  versionCommand,
  whoamiCommand,
} from '../commands/built-in/information.ts'
import {
  approveCommand,
  busyCommand,
  compressCommand,
  denyCommand,
  footerCommand,
  newCommand,
  pauseCommand,
  queueCommand,
  steerCommand,
  stopCommand,
  verboseCommand,
  voiceCommand,
  yoloCommand,
} from '../commands/built-in/session.ts'
import { agentsCommand, backgroundCommand, cronCommand } from '../commands/built-in/task.ts'
import type { BusyServices } from '../commands/busy.ts'
import type { CheckpointServices } from '../commands/checkpoint.ts'
import type { ConversationChoices } from '../commands/choices.ts'
import type { CommandDefinition } from '../commands/command.ts'
import type { GatewayAdmin, GatewayStatus, InstallationReport, StatusReport } from '../commands/gateway.ts'
import type { CurrentModel, ModelConversation, ModelServices } from '../commands/model.ts'
import { bindCommand } from '../commands/registry.ts'
import type { StopControl } from '../commands/session.ts'
import type { TaskServices } from '../commands/tasks.ts'
import { lazy } from '../lib/cache.ts'
import type { VisibleSessions } from '../store/sqlite/visible-sessions.ts'
import type { AgentRuntime } from './compose-agent.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

/** The models of conversations, for commands and platforms. */
export interface ModelAccess {
  /** For `/model`. */
  services(): Promise<ModelServices>
  /** The model that answers in a conversation. */
  modelOf(conversation: ModelConversation): Promise<Pick<CurrentModel, 'model' | 'provider' | 'contextLength'>>
}

/** The gateway as commands use it. */
export interface CommandGateway {
  readonly context: AppContext
  readonly core: Core
  readonly agent: AgentRuntime
  readonly models: ModelAccess
  /** What reads earlier conversations. */
  visibleSessions(): Promise<VisibleSessions>
}

/** @param gateway called when a command runs for the first time */
export function builtInCommands(gateway: () => CommandGateway): readonly CommandDefinition[] {
  const admin = lazy(() => gatewayAdminOf(gateway()))
  const tasks = lazy(() => tasksOf(gateway()))
  const busy = () => busyOf(gateway())
  const choices = () => choicesOf(gateway())
  const conversations = () => conversationsOf(gateway())
  const installation = () => installationOf(gateway())
  const list = () => ({ commands: gateway().core.commands.list, skills: gateway().agent.skills.readMenu })
  const questions = () => gateway().core.approvals.questions
  return [
    bindCommand(startCommand, () => gateway().models),
    bindCommand(newCommand, () => {
      const { sessionServices, outbox } = gateway().core
      return { reset: sessionServices.resetSession, withhold: outbox.withhold }
    }),
    bindCommand(stopCommand, () => stopOf(gateway(), tasks)),
    bindCommand(queueCommand, busy),
    bindCommand(steerCommand, busy),
    bindCommand(busyCommand, busy),
    bindCommand(pauseCommand, () => gateway().core.pause),
    bindCommand(approveCommand, questions),
    bindCommand(denyCommand, questions),
    bindCommand(yoloCommand, async () => {
      const { createYoloSwitch } = await import('../flows/approvals/yolo-switch.ts')
      return createYoloSwitch(gateway().context)
    }),
    bindCommand(retryCommand, conversations),
    bindCommand(undoCommand, conversations),
    bindCommand(rollbackCommand, () => checkpointsOf(gateway())),
    bindCommand(resumeCommand, conversations),
    bindCommand(sessionsCommand, conversations),
    bindCommand(titleCommand, conversations),
    bindCommand(branchCommand, conversations),
    bindCommand(backgroundCommand, tasks),
    bindCommand(agentsCommand, tasks),
    bindCommand(cronCommand, async () => {
      const { createJobServices } = await import('../flows/cron/job-services.ts')
      return createJobServices(gateway().agent.cron.open, gateway().core.outbox)
    }),
    bindCommand(compressCommand, () => {
      const { core, agent } = gateway()
      return { status: core.sessionServices.sessionStatus, compress: agent.compressSession }
    }),
    bindCommand(modelCommand, () => gateway().models.services()),
    bindCommand(reasoningCommand, choices),
    bindCommand(personalityCommand, choices),
    bindCommand(usageCommand, conversations),
    bindCommand(insightsCommand, conversations),
    bindCommand(verboseCommand, choices),
    bindCommand(footerCommand, choices),
    bindCommand(voiceCommand, choices),
    bindCommand(statusCommand, () => statusOf(gateway())),
    bindCommand(sethomeCommand, admin),
    bindCommand(reloadMcpCommand, () => ({
      reload: gateway().agent.mcp.reload,
      redact: gateway().context.secrets.redact,
    })),
    bindCommand(restartCommand, admin),
    bindCommand(helpCommand, list),
    bindCommand(commandsCommand, list),
    bindCommand(whoamiCommand, async () => {
      const { createAccessReport } = await import('../flows/access/access-report.ts')
      return createAccessReport(gateway().context.accountDirectory, gateway().agent.agentServices.tools)
    }),
    bindCommand(versionCommand, () => gateway().context.options.version),
    bindCommand(updateCommand, installation),
    bindCommand(debugCommand, installation),
  ]
}

/** The built-in commands of a program without a gateway, which lists them and runs none. */
export function describedCommands(): readonly CommandDefinition[] {
  return builtInCommands(() => {
    throw new Error('commands run in a gateway only')
  })
}

function stopOf({ context, core }: CommandGateway, tasks: () => Promise<TaskServices>): StopControl {
  return {
    stopTurn(key, { source, authority }) {
      const ownOnly = authority.role === 'guest' && context.accountDirectory.isShared(source)
      return core.sessionServices.stopTurn(key, ownOnly ? (source.userId ?? '') : undefined)
    },
    tasks,
  }
}

async function tasksOf({ context, core, agent }: CommandGateway): Promise<TaskServices> {
  const { createRequestedTasks } = await import('../flows/tasks/requested-tasks.ts')
  return createRequestedTasks({
    tasks: core.backgroundTasks,
    stopEvent: core.sessionServices.stopEvent,
    running: agent.runningSubagents,
    handInUnstarted: async (task) => (await agent.delegatedTurns()).handInUnstarted(task),
    sessionKeyOf: context.accountDirectory.sessionKey,
    store: context.store,
    withhold: core.outbox.withhold,
    clock: context.clock,
  })
}

async function busyOf({ context, core }: CommandGateway): Promise<BusyServices> {
  const [{ createBusyServices }, arrivals] = await Promise.all([
    import('../flows/busy/commands.ts'),
    core.busyArrivals(),
  ])
  return createBusyServices(context.store, arrivals, core.engine, context.settings)
}

async function choicesOf({ context, core, agent }: CommandGateway): Promise<ConversationChoices> {
  const { createConversationChoices } = await import('../flows/commands/conversation-choices.ts')
  return createConversationChoices(context, core.outbox, agent.agentServices)
}

async function conversationsOf({ context, core, models, visibleSessions }: CommandGateway) {
  const { createConversationServices } = await import('../flows/commands/conversations.ts')
  return createConversationServices({
    store: context.store,
    sessions: core.sessionServices,
    visibleSessions: await visibleSessions(),
    sessionRewound: ({ sessionKey, source, sessionId }) =>
      core.pluginRegistries.notifyMemory({
        ...{ sessionKey, source, reason: 'undo' },
        ...{ oldSessionId: sessionId, newSessionId: sessionId },
      }),
    isShared: context.accountDirectory.isShared,
    models,
    withhold: core.outbox.withhold,
    clock: context.clock,
  })
}

async function checkpointsOf({ context, core, agent: { agentServices } }: CommandGateway): Promise<CheckpointServices> {
  const { createCheckpointServices } = await import('../flows/environments/checkpoints.ts')
  const { environments, tools } = agentServices
  const texts = { redact: context.secrets.redact, withhold: core.outbox.withhold }
  const agent = { openShell: environments.openShell, toolListOf: tools.toolListOf }
  return createCheckpointServices(await environments.checkpoints(), context.settings, agent, texts)
}

function gatewayStatusOf({ context, core, agent }: CommandGateway): GatewayStatus {
  const { lifecycle, clock, platforms, problems } = context
  return {
    ...agent.agentServices.models.describe(),
    uptimeMs: clock() - lifecycle.startedAt,
    platforms: platforms.health(),
    degraded: problems.degraded(),
    background: core.backgroundTasks.open(),
  }
}

function statusOf(gateway: CommandGateway): StatusReport {
  const { context, core, agent, models } = gateway
  const { store, settings, options, clock } = context
  return {
    session: core.sessionServices.sessionStatus,
    gateway: () => gatewayStatusOf(gateway),
    modelOf: models.modelOf,
    async pendingQuestion(key) {
      const question = await core.approvals.questions.oldestWaiting(key)
      return question === undefined ? undefined : core.outbox.withhold(question.text)
    },
    isYolo: (sessionId) => store.run(() => isYolo(sessionId)),
    homeChannels: async () => (await import('../flows/delivery/home-channels.ts')).readHomeChannels(context),
    async modelKeys() {
      const { reportKeys } = await import('../flows/models/key-status.ts')
      const { fallback_providers: fallbacks } = settings()
      const selection = agent.agentServices.models.selection()
      return reportKeys({ path: options.home.authFile, selection, fallbacks, now: clock() }).lines.map(
        ({ text }) => text,
      )
    },
  }
}

async function installationOf(gateway: CommandGateway): Promise<InstallationReport> {
  const { describeInstallation } = await import('../flows/commands/installation.ts')
  const { options, secrets } = gateway.context
  const installation = describeInstallation(options.home)
  return { version: options.version, installation, gateway: () => gatewayStatusOf(gateway), redact: secrets.redact }
}

async function gatewayAdminOf({ context, core }: CommandGateway): Promise<GatewayAdmin> {
  const { createGatewayAdmin } = await import('../flows/commands/gateway-admin.ts')
  return createGatewayAdmin(context, core.outbox)
}
