/**
 * Composes what runs the turns of a session: the model and its tools, prompts, attachments, compression and plugins.
 */
import { join } from 'node:path'
import { createAgent } from '../agent/agent.ts'
import type { RunningSubagent } from '../agent/loop/agent-turn.ts'
import type { ProviderSettings } from '../agent/models/create-provider.ts'
import type { ChatMessages } from '../agent/tools/tool.ts'
import type { AgentRoutesDeps } from '../flows/agent-routes.ts'
import { type AgentServices, createAgentServices } from '../flows/agent-services.ts'
import type { StartSubagents } from '../flows/delegation/background-subagents.ts'
import type { DelegatedTurns } from '../flows/delegation/delegated-turns.ts'
import type { SendingTurn } from '../flows/delivery/chat-messages.ts'
import type { ModelKeys } from '../flows/model-keys.ts'
import type { OwnMemory } from '../flows/own-memory.ts'
import type { PluginManager } from '../flows/plugin-manager.ts'
import { createSessionCompression, type SessionCompression } from '../flows/session-compression.ts'
import { createPromptFreezer, type SessionPromptDeps } from '../flows/session-prompt.ts'
import type { SessionTitles } from '../flows/session-titles.ts'
import { createToolsetCheck, type ToolsetCheck } from '../flows/toolset-check.ts'
import { createMessagePreparation, type MessagePreparation } from '../flows/turn/attachments.ts'
import type { Turn } from '../flows/turn/claim.ts'
import { createTurnJournal, type TurnJournal } from '../flows/turn/journal.ts'
import { createModelOutages } from '../flows/turn/model-outages.ts'
import { createPostponement } from '../flows/turn/postpone.ts'
import { createWithoutModel } from '../flows/turn/without-model.ts'
import { recordFailedAttempt } from '../inbox/attempts.ts'
import { findAttachmentPaths } from '../inbox/queries.ts'
import { isTransientError, messageOf } from '../lib/errors.ts'
import { brand, systemRandom } from '../lib/ids.ts'
import { createLruCache } from '../lib/lru-cache.ts'
import { createRedactor } from '../lib/redact.ts'
import { sleep } from '../lib/timers.ts'
import { createAttachmentDownloader } from '../media/attachment-downloader.ts'
import { hasWaitingUser } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import { rejectionReasonOf } from '../middleware/guardrail-rejected.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import { findImagesOfConversation, findMessages, usageOfTurn } from '../sessions/transcript.ts'
import { createTurnRunner, type TurnDeps } from '../turn.ts'
import { composeMcp, type McpAccess } from './compose-mcp.ts'
import { composePluginManager } from './compose-plugins.ts'
import { composeSkills, type SkillRuntime, withheldVariables } from './compose-skills.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export interface AgentRuntime extends Pick<SessionCompression, 'compressSession'>, AgentRoutesDeps {
  /** Entries of toolset lists that name nothing, and a file of messages that cannot be used. */
  readonly agentCheck: ToolsetCheck
  /** Runs the turns of one session. */
  runTurn(key: SessionKey, signal: AbortSignal): Promise<void>
  readonly agentServices: AgentServices
  /** Resolves when no title of a conversation is being asked for. */
  titlesIdle(): Promise<void>
  readonly plugins: PluginManager
  /** The sub-agents that run now, by their ids for people. */
  readonly runningSubagents: Map<string, RunningSubagent>
  /** The turns of sub-agents in the background. */
  delegatedTurns(): Promise<DelegatedTurns>
  readonly skills: SkillRuntime
  readonly mcp: McpAccess
}

export function composeAgent(context: AppContext, core: Core): AgentRuntime {
  const { options, settings, accountDirectory, platforms, store, clock, random, log, failpoint } = context
  const { outbox, turnResults, runningTurns, events, pluginRegistries, turnInfoOf } = core
  const { middleware, agentHooks, memory, sections } = pluginRegistries

  const ownMemory = composeOwnMemory(context, memory)
  const skills = composeSkills(context, core)
  const mcp = composeMcp(context, () => agentServices)
  const agentServices: AgentServices = composeAgentServices(context, core, {
    mcpTools: mcp.tools,
    pluginTools: () => plugins.tools(),
    ownMemory,
    skills: skills.load,
  })
  const compression = composeCompression(context, core, { ownMemory, ...agentServices })
  const runningSubagents: AgentRuntime['runningSubagents'] = new Map()
  const agent = createAgent({
    auxiliary: agentServices.auxiliary,
    subagentModel: agentServices.subagentModel,
    runningSubagents,
    middleware,
    agentHooks,
    approve: core.approvals.approveTool,
    rejectionReason: rejectionReasonOf,
    clock,
    log,
    random,
    pause: core.pauseTurn,
    fork: ({ sessionKey }, branches) => core.engine.fork(brand<SessionKey>(sessionKey), branches),
    settings,
    failpoint,
  })
  const plugins = composePluginManager(context, core, { agentServices, currentTurn: agent.currentTurn })
  const journal: TurnJournal = composeTurnJournal(context, core, agentServices, () => preparation)
  const preparation = composeMessagePreparation(context, core, { journal, skills, agentServices })
  const promptDeps: SessionPromptDeps = {
    home: options.home,
    store,
    settings,
    accountDirectory,
    agentServices,
    redact: createRedactor({ secrets: context.secrets.distinctive, knownOnly: true }),
    onScanned: (path, ids) => reportScan(context, path, ids),
    log,
    clock,
    adapter: platforms.adapter,
    // Both are imported with the first session that needs them.
    knowledge: { memory: async (facts) => (await ownMemory()).prompt(facts), skills: skills.index },
    memory,
    sections,
  }
  const delegation = composeDelegation(context, core, agentServices)
  const titles = composeTitles(context, core, agentServices)
  const runTurn = createTurnRunner({
    journal,
    agent,
    outbox,
    turnResults,
    running: runningTurns,
    emit: events.emit,
    emitsEvents: accountDirectory.emitsEvents,
    outages: createModelOutages({ store, notices: core.turnNotices, settings, clock, sleep, log }),
    adapter: platforms.adapter,
    settings,
    isWaitingForUser: (key) => core.approvals.questions.isAsking(key),
    redact: context.redact,
    clock,
    usageOf: ({ id, sessionId }) => store.run(() => usageOfTurn(sessionId, id, 0)),
    prepareMessage: preparation.prepare,
    speak: composeSpeech(context, core, agentServices),
    completeWithoutModel: createWithoutModel({
      compressOnRequest: compression.compressOnRequest,
      model: agentServices.model,
    }),
    model: agentServices.model,
    async fallback(turn, failed, failure) {
      if (settings().fallback_providers.length === 0) return null
      const { fallBack } = await import('../flows/turn/fall-back.ts')
      return await fallBack({ models: agentServices, notices: core.turnNotices, log }, turn, failed, failure)
    },
    tools: agentServices.tools,
    ...delegation,
    senderOf: agentServices.senderOf,
    toolContext: (turn, call, signal) => ({
      ...agentServices.toolContext(turn, call, signal),
      askUser: core.approvals.askUserFor({ turnId: turn.id, callId: call.id }),
    }),
    openSubagentWorkspace: agentServices.openSubagentWorkspace,
    freezePrompt: createPromptFreezer(promptDeps),
    compression,
    describeErrorOrigin: middleware.errorOrigin,
    turnInfoOf,
    turnEndListeners: core.approvals.questions.turnEndListeners,
    answered: titles.answered,
    answeredSessions: createLruCache(maxTitledSessions),
    recordFailure: (seq, error) =>
      store.run(() => recordFailedAttempt(seq, messageOf(error), !isTransientError(error))),
    yieldTurn: core.engine.yieldTurn,
    announcePause: core.pause.announce,
    postpone: createPostponement({ engine: core.engine, notices: core.turnNotices, clock }),
    isDraining: context.isDraining,
    log,
    random,
    sleep,
    failpoint,
  })

  return {
    runTurn,
    compressSession: compression.compressSession,
    agentServices,
    titlesIdle: titles.idle,
    plugins,
    skills,
    runningSubagents,
    delegatedTurns: delegation.delegated,
    mcp,
    agentCheck: composeAgentCheck(context, { plugins, mcp }, agentServices),
    knownTools: async () =>
      (await import('../flows/known-tools.ts')).knownTools(plugins.tools(), await mcp.knownTools()),
    async previewPrompt(platform) {
      const { previewPrompt } = await import('../flows/prompt-preview.ts')
      return await previewPrompt(promptDeps, platform, await agentServices.ephemeralPrompt(noChat(platform)))
    },
  }
}

const maxTitledSessions = 1_000

/** Their code is loaded with the first answer of a conversation that people can find again. */
function composeTitles(
  { options, settings, store, stopping, log }: AppContext,
  { outbox, turnInfoOf }: Core,
  { auxiliary, model, conversationModel }: AgentServices,
) {
  let titles: Promise<SessionTitles> | undefined
  const load = () =>
    import('../flows/session-titles.ts').then(({ createSessionTitles }) =>
      createSessionTitles({
        ...{ store, settings, auxiliary, turnInfoOf, withhold: outbox.withhold, stopping, log },
        // The turn has told its person when the chosen model cannot be used.
        model: async ({ event, settings: chosen }) =>
          (await conversationModel({ source: event.source, settings: chosen })).chosen ?? (await model()),
      }),
    )
  return {
    answered(turn: Turn, text: string): boolean {
      const { event } = turn
      if (options.onlyPlatforms !== undefined || !settings().auxiliary.title_generation.enabled) return true
      if (event.task !== undefined || event.internal === true || !hasWaitingUser(event)) return false
      titles ??= load()
      titles.then(
        (loaded) => loaded.add(turn, text),
        (error: unknown) => log.error({ event: 'session.titles_not_loaded', err: error }, 'titles cannot be given'),
      )
      return true
    },
    idle: async () => (await titles)?.idle(),
  }
}

function composeTurnJournal(
  { settings, accountDirectory, store, stopping, clock, failpoint }: AppContext,
  { outbox, engine, sessionServices, endRevokedMessage }: Core,
  { hasRunningCommand }: AgentServices,
  preparation: () => Pick<MessagePreparation, 'prepareSteered'>,
): TurnJournal {
  const { isShared, routeOf, authorityOf, lowerAuthority, isRevoked } = accountDirectory
  const { sessionReplaced } = sessionServices
  async function openReset() {
    const { createClaimedReset } = await import('../flows/turn/automatic-reset.ts')
    return createClaimedReset({ settings, outbox, hasRunningCommand, sessionReplaced })
  }
  return createTurnJournal({
    store,
    clock,
    isShared,
    routeOf,
    authorityOf,
    lowerAuthority,
    transcribes: () => settings().stt.enabled,
    prepareSteered: (turn, message) => void preparation().prepareSteered(turn, message, stopping),
    hasSkills: true,
    isRevoked,
    endRevoked: endRevokedMessage,
    onProgress: engine.madeProgress,
    failpoint,
    reset: { settings, open: openReset },
  })
}

/** What a turn has to do with sub-agents in the background. Their code is loaded with the first of them. */
function composeDelegation(
  { options, settings, accountDirectory, store, clock, log, failpoint }: AppContext,
  { backgroundTasks: tasks, engine, outbox }: Core,
  agentServices: AgentServices,
): Pick<TurnDeps, 'delegated' | 'startSubagents'> {
  let turns: Promise<DelegatedTurns> | undefined
  let start: StartSubagents | undefined
  return {
    delegated() {
      turns ??= import('../flows/delegation/delegated-turns.ts').then(({ createDelegatedTurns }) =>
        createDelegatedTurns({
          ...{ store, agentServices, settings, clock, log, failpoint, withhold: outbox.withhold },
          isShared: accountDirectory.isShared,
          hasAccess: ({ source }) => accountDirectory.access({ source }).allowed,
          wake: (key) => engine.wake(key, 'turn'),
        }),
      )
      return turns
    },
    // A process for one command does not wait for what goes on in the background.
    ...(options.onlyPlatforms === undefined
      ? {
          async startSubagents(...task: Parameters<StartSubagents>) {
            const { createBackgroundSubagents } = await import('../flows/delegation/background-subagents.ts')
            start ??= createBackgroundSubagents({ tasks, settings, failpoint })
            return await start(...task)
          },
        }
      : {}),
  }
}

/** Loaded with the first message to another chat. */
function composeChatMessages(context: AppContext, core: Core, turn: SendingTurn, callId: string): ChatMessages {
  const { options, settings, accountDirectory, platforms, store, clock, failpoint } = context
  const load = async () => {
    const { createChatMessages } = await import('../flows/delivery/chat-messages.ts')
    const { outbox } = core
    const { home } = options
    const deps = { store, accountDirectory, adapter: platforms.adapter, outbox, settings, home, clock, failpoint }
    return createChatMessages(deps, turn, callId)
  }
  return {
    prepare: async (message, signal) => (await load()).prepare(message, signal),
    list: async (signal) => (await load()).list(signal),
  }
}

/** Loaded with the first new session. */
function composeOwnMemory(context: AppContext, memory: Pick<PluginMemory, 'memoryWritten'>): () => Promise<OwnMemory> {
  const { options, settings, secrets, promptFileProblems, accountDirectory, clock, log, failpoint } = context
  const redactAll = createRedactor({ secrets: secrets.distinctive })
  let loaded: Promise<OwnMemory> | undefined
  const load = async () => {
    const { createOwnMemory } = await import('../flows/own-memory.ts')
    return createOwnMemory({
      directory: options.home.memories,
      settings: () => settings().memory,
      redact: createRedactor({ secrets: secrets.distinctive, knownOnly: true }),
      holdsSecret: (text) => redactAll(text) !== text,
      onScanned: (path, ids) => reportScan(context, path, ids),
      onRead(path, problem) {
        if (problem === undefined) promptFileProblems.delete(path)
        else promptFileProblems.set(path, problem)
      },
      isShared: accountDirectory.isShared,
      onWritten(change, { sessionId, authority: { role }, event }) {
        if (event === undefined || event.task !== undefined) return
        const { platform, chatType, userId = '' } = event.source
        const sessionKey = accountDirectory.sessionKey(event.source)
        memory.memoryWritten(change, { sessionId, sessionKey, platform, chatType, userId, role })
      },
      clock,
      log,
      failpoint,
    })
  }
  return () => {
    loaded ??= load()
    return loaded
  }
}

function noChat(platform: string): SessionSource {
  return { platform, account: 'default', chatId: '', chatType: 'dm' }
}

function composeAgentCheck(
  { options, settings }: AppContext,
  { plugins, mcp }: Pick<AgentRuntime, 'plugins' | 'mcp'>,
  { ephemeralPrompt, ephemeralProblem }: AgentServices,
): ToolsetCheck {
  const ofServers = async () => [
    ...(await mcp.knownTools()),
    ...(await import('../agent/mcp/known-tools.ts')).toolsetsOfServers(settings()),
  ]
  const toolsets = createToolsetCheck(settings, plugins.tools, ofServers)
  return {
    async review() {
      await toolsets.review()
      await ephemeralPrompt(noChat('cli'))
      // A process for one command asks a server when it needs it.
      if (options.onlyPlatforms === undefined) await mcp.discover()
    },
    problems: () => [
      ...toolsets.problems(),
      ...(ephemeralProblem() === '' ? [] : [ephemeralProblem()]),
      ...mcp.problems(),
    ],
  }
}

async function openModelKeys(context: AppContext, selection: () => ProviderSettings): Promise<ModelKeys> {
  const { options, settings, secrets, modelCalls, clock, random, log, failpoint } = context
  const { createModelKeys } = await import('../flows/model-keys.ts')
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

const maxSuspiciousFiles = 20

function reportScan({ suspiciousFiles }: AppContext, path: string, ids: readonly string[]): void {
  if (ids.length === 0) suspiciousFiles.delete(path)
  else if (suspiciousFiles.size < maxSuspiciousFiles) suspiciousFiles.set(path, ids)
}

interface AgentParts {
  readonly mcpTools: McpAccess['tools']
  readonly pluginTools: PluginManager['tools']
  readonly ownMemory: () => Promise<OwnMemory>
  readonly skills: SkillRuntime['load']
}

function composeAgentServices(
  context: AppContext,
  core: Core,
  { mcpTools, pluginTools, ownMemory, skills }: AgentParts,
): AgentServices {
  const { options, settings, config, accountDirectory, secrets, catalogue, modelCalls, log } = context
  const { turnNotices, runningTurns } = core
  const isDaemon = options.onlyPlatforms === undefined
  const picturesOf = async (turnId: string) => {
    const images = await context.store.run(() => findImagesOfConversation(turnId))
    return images.map((image) => ({ path: join(options.home.pictures, image.file), image }))
  }
  return createAgentServices({
    home: options.home,
    log,
    settings,
    environment: config.environment,
    commandLine: options.commandLine,
    pluginTools,
    mcpTools,
    skills,
    policyOf: accountDirectory.policyOf,
    isShared: accountDirectory.isShared,
    memory: async (turn) => (await ownMemory()).accessOf(turn),
    turnAccess: { secrets, ended: runningTurns.ended, run: context.runAgentCommand },
    modelCalls,
    auxiliaryCalls: {
      middleware: core.pluginRegistries.middleware,
      pause: core.pauseTurn,
      clock: context.clock,
      random: context.random,
      failpoint: context.failpoint,
      async record(call) {
        const { recordAuxiliaryCall } = await import('../sessions/auxiliary-calls.ts')
        await context.store.run(() => recordAuxiliaryCall(call, context.clock()))
      },
    },
    turnInfoOf: core.turnInfoOf,
    openModelKeys: (selection) => openModelKeys(context, selection),
    async choiceUnusable({ event, sessionId }, { provider, model, problem }, instead) {
      const chosen = provider === '' ? model : `${model} (${provider})`
      log.warn(
        { event: 'model.choice_unusable', session: sessionId, provider, model, err: problem },
        'a model is left out',
      )
      await turnNotices.modelUnusable(event, `${sessionId}:${provider}:${model}`, chosen, problem.message, instead)
    },
    ...(isDaemon
      ? { chatMessages: (turn: SendingTurn, callId: string) => composeChatMessages(context, core, turn, callId) }
      : {}),
    async showFile(turn, callId, file) {
      const { showFile } = await import('../flows/delivery/show-file.ts')
      return showFile(core.outbox, turn, callId, file)
    },
    async openRecall() {
      const { createSessionRecall } = await import('../flows/session-recall.ts')
      return createSessionRecall(options.home.databaseFile, context.store)
    },
    attachmentsOf: async (turnId) => {
      const files = await context.store.run(() => findAttachmentPaths(turnId))
      // The messages of the inbox are deleted earlier than those of the conversation.
      return [...new Set([...files, ...(await picturesOf(turnId)).map(({ path }) => path)])]
    },
    picturesOf,
    findMessages: (sessionId, filter) => context.store.run(() => findMessages(sessionId, filter)),
    onSandbox: (sandbox) => {
      context.sandboxReport.reason = sandbox?.reason ?? ''
    },
    async announceMissingSandbox({ authority, event }) {
      const { role, chatType, platform, userId = '' } = authority
      if (event === undefined || role !== 'owner' || chatType !== 'dm') return
      await turnNotices.withoutSandbox(event, `${platform}:${userId}`)
    },
    // A file that the agent edits must stay intact, so words of everyday text are not replaced.
    redact: createRedactor({ secrets: secrets.distinctive, knownOnly: true }),
    withheld: withheldVariables(catalogue),
  })
}

interface CompressionParts extends Pick<AgentServices, 'auxiliary' | 'model' | 'tools' | 'renameSession'> {
  readonly ownMemory: () => Promise<OwnMemory>
}

function composeCompression(
  context: AppContext,
  core: Core,
  { ownMemory, auxiliary, model, tools, renameSession }: CompressionParts,
): SessionCompression {
  const { settings, accountDirectory, store, clock, log, failpoint } = context
  const shared = { auxiliary, turnInfoOf: core.turnInfoOf, settings, log }
  return createSessionCompression({
    ...shared,
    store,
    clock,
    failpoint,
    engine: core.engine,
    memory: core.pluginRegistries.memory,
    emit: core.events.emit,
    emitsEvents: accountDirectory.emitsEvents,
    sessionContinued({ turn: { sessionId: oldSessionId, sessionKey, event }, newSessionId }) {
      renameSession(oldSessionId, newSessionId)
      const { source } = event
      core.pluginRegistries.notifyMemory({ sessionKey, source, oldSessionId, newSessionId, reason: 'compression' })
    },
    async flushMemory(turn, messages, signal) {
      const { flushTurnMemory } = await import('../flows/memory-flush.ts')
      const deps = { ...shared, ownMemory: await ownMemory(), model, tools, isShared: accountDirectory.isShared }
      return await flushTurnMemory(deps, turn, messages, signal)
    },
  })
}

/** Loaded with the first answer that is spoken. */
function composeSpeech(
  { settings, platforms, log }: AppContext,
  { outbox }: Core,
  { media }: Pick<AgentServices, 'media'>,
): NonNullable<TurnDeps['speak']> {
  return async (turn, text, signal) => {
    if (platforms.adapter(targetOf(turn.event.source))?.sendsAttachments !== true) return {}
    const { speakAnswer } = await import('../flows/turn/speak.ts')
    const deps = { media: await media(), maxChars: settings().tts.max_chars, redact: outbox.withhold, log }
    return await speakAnswer(deps, turn.id, text, signal)
  }
}

function composeMessagePreparation(
  context: AppContext,
  core: Core,
  {
    journal,
    skills,
    agentServices: { toolListOf, media: openMedia },
  }: { readonly journal: TurnJournal; readonly skills: SkillRuntime; readonly agentServices: AgentServices },
): MessagePreparation {
  const { options, settings, accountDirectory, platforms, store, redact } = context
  const { stopping, isDraining, clock, log, failpoint } = context
  const { outbox } = core
  const media = createAttachmentDownloader({
    folder: options.home.media,
    pictures: options.home.pictures,
    clock,
    sleep,
    log,
    maxBytes: () => settings().media.max_mb * 1_048_576,
    adapter: platforms.adapter,
    fileHosts: (target) => accountDirectory.policyOf(target).fileHosts,
    randomSuffix: () => Buffer.from(systemRandom(4)).toString('hex'),
    redact,
  })
  return createMessagePreparation({
    journal,
    async readSkills(event) {
      const [loaded, { readMessageSkills }] = await Promise.all([skills.load(), import('../flows/skill-commands.ts')])
      const { authorityOf, commandTiersOf } = accountDirectory
      return await readMessageSkills({ skills: loaded, toolListOf, authorityOf, commandTiersOf }, event)
    },
    running: core.runningTurns,
    download: (event, name, signal) => media.fetchAttachments(event, name, AbortSignal.any([signal, stopping])),
    async prepareNotice(message, files) {
      const { prepareRefusedFilesNotice } = await import('../flows/turn/refused-files.ts')
      return prepareRefusedFilesNotice(outbox, message, files)
    },
    async transcribe(message, signal) {
      const [transcripts, services] = await Promise.all([import('../flows/turn/transcribe.ts'), openMedia()])
      const echoes = () => settings().stt_echo_transcripts
      const deps = { media: services, outbox, store, echoes, redact, clock, sleep, log }
      return await transcripts.transcribeMessage(deps, message, AbortSignal.any([signal, stopping]))
    },
    waitOutside: core.engine.waitOutside,
    withdraw: core.sessionServices.stopEvent,
    transcribes: () => settings().stt.enabled,
    isDraining,
    log,
    failpoint,
  })
}
