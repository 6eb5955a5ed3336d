/**
 * Composes the steps around the loop of a turn: the journal, the preparation of messages, compression, speech, titles and sub-agents in the background.
 */
import type { Agent } from '../agent/agent.ts'
import type { SkillAccess } from '../flows/commands/skill-access.ts'
import { type CompressionPolicy, createCompressionPolicy } from '../flows/compression/compression-policy.ts'
import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import { type BackgroundDelegations, createDelegation } from '../flows/tasks/delegation.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { createMessagePreparation, type MessagePreparation } from '../flows/turn/attachments.ts'
import { createTurnJournal, type TurnJournal } from '../flows/turn/journal.ts'
import { createModelOutages } from '../flows/turn/model-outages.ts'
import { createTitles, createVoice, type Delegation, type TurnTitles } from '../flows/turn/steps.ts'
import { createTurnQueue } from '../flows/turn/turn-queue.ts'
import { lazy } from '../lib/cache.ts'
import { systemRandom } from '../lib/ids.ts'
import { sleep } from '../lib/timers.ts'
import { createAttachmentDownloader } from '../media/attachment-downloader.ts'
import { type FrozenPrompt, usageOfTurn } from '../sessions/transcript.ts'
import type { Turn } from '../sessions/turn.ts'
import { createTurnRunner } from '../turn.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export function composeTurnJournal(
  { settings, accountDirectory, store, lifecycle: { stopping }, secrets, clock, failpoint }: AppContext,
  { outbox, engine, sessionServices, endRevokedMessage, isTurnPaused }: Core,
  { environments: { hasRunningCommand } }: AgentServices,
  preparation: () => Pick<MessagePreparation, 'prepareSteered'>,
): TurnJournal {
  const { isShared, routeOf, authorityOf, lowerAuthority, isRevoked } = accountDirectory
  const { sessionReplaced } = sessionServices
  async function openReset() {
    const { createResetIfDue } = await import('../flows/turn/automatic-reset.ts')
    return createResetIfDue(settings, outbox, hasRunningCommand, sessionReplaced)
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
    isPaused: isTurnPaused,
    redact: secrets.redact,
    withhold: outbox.withhold,
    failpoint,
    reset: { settings, open: openReset },
  })
}

export function composeMessagePreparation(
  context: AppContext,
  core: Core,
  {
    journal,
    skills,
    agentServices: {
      tools: { toolListOf },
      media: openMedia,
    },
  }: { readonly journal: TurnJournal; readonly skills: SkillAccess; readonly agentServices: AgentServices },
): MessagePreparation {
  const { options, settings, accountDirectory, platforms, store, clock, log, failpoint } = context
  const { stopping } = context.lifecycle
  const { redact } = context.secrets
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
      const [loaded, { readMessageSkills }] = await Promise.all([
        skills.load(),
        import('../flows/commands/skill-commands.ts'),
      ])
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
    stopping,
    log,
    failpoint,
  })
}

export function composeCompression(
  context: AppContext,
  core: Core,
  { models: { auxiliary, model }, tools, environments }: AgentServices,
  ownMemory: () => Promise<OwnMemory>,
): CompressionPolicy {
  const { settings, accountDirectory, store, clock, log, failpoint } = context
  const shared = { auxiliary, turnInfoOf: core.turnInfoOf, settings, log }
  return createCompressionPolicy({
    ...shared,
    store,
    clock,
    failpoint,
    engine: core.engine,
    memory: core.pluginRegistries.memory,
    emit: core.events.emit,
    emitsEvents: accountDirectory.emitsEvents,
    sessionContinued({ turn: { sessionId: oldSessionId, sessionKey, event }, newSessionId }) {
      environments.renameSession(oldSessionId, newSessionId)
      const { source } = event
      core.pluginRegistries.notifyMemory({ sessionKey, source, oldSessionId, newSessionId, reason: 'compression' })
    },
    partLeftOut: ({ event, id }) => core.turnNotices.partLeftOut(event, id),
    async flushMemory(turn, messages, signal) {
      const { flushTurnMemory } = await import('../flows/prompt/memory-flush.ts')
      const deps = {
        ...shared,
        ownMemory: await ownMemory(),
        model,
        tools: tools.forTurn,
        isShared: accountDirectory.isShared,
      }
      return await flushTurnMemory(deps, turn, messages, signal)
    },
  })
}

export function composeDelegation(
  { mode, settings, accountDirectory, store, clock, log, failpoint }: AppContext,
  { engine, outbox, backgroundTasks }: Core,
  agentServices: AgentServices,
): BackgroundDelegations {
  return createDelegation({
    ...{ store, agentServices, settings, clock, log, failpoint, withhold: outbox.withhold },
    tasks: mode.staysUp ? backgroundTasks : undefined,
    isShared: accountDirectory.isShared,
    hasAccess: ({ source }) => accountDirectory.access({ source }).allowed,
    wake: (key) => engine.wake(key, 'turn'),
  })
}

export function composeTitles(
  { mode, settings, store, lifecycle: { stopping }, log }: AppContext,
  { outbox, turnInfoOf }: Core,
  { models: { auxiliary, model, conversationModel } }: AgentServices,
): TurnTitles {
  return createTitles(
    {
      ...{ store, settings, auxiliary, turnInfoOf, withhold: outbox.withhold, stopping, log },
      // The turn has told its person when the chosen model cannot be used.
      model: async ({ event, settings: chosen }) =>
        (await conversationModel({ source: event.source, settings: chosen })).chosen ?? (await model()),
    },
    mode.staysUp,
  )
}

export interface TurnComposition {
  readonly agent: Agent
  readonly agentServices: AgentServices
  readonly journal: TurnJournal
  readonly preparation: MessagePreparation
  readonly compression: CompressionPolicy
  readonly delegation: Delegation
  readonly titles: TurnTitles
  buildPrompt(turn: Turn): Promise<FrozenPrompt>
}

/** Composes what runs the turns of one session. */
export function composeTurnRunner(context: AppContext, core: Core, parts: TurnComposition) {
  const { settings, platforms, store, secrets, stopping, clock, random, log, failpoint } = context
  const { outbox, turnNotices: notices, runningTurns: running, events, approvals, engine } = core
  const { agent, agentServices, journal, compression, delegation, titles } = parts
  const { models, tools, media } = agentServices
  const { adapter } = platforms
  const outages = createModelOutages(context, notices, settings)
  return createTurnRunner({
    queue: createTurnQueue({
      ...{ store, engine, notices, stopping, clock },
      prepare: parts.preparation.prepare,
      announcePause: core.pause.announce,
    }),
    ...{ journal, running, agent, compression, delegation, outages, events, random, log, failpoint },
    conversation: { model: models.model, tools: tools.forTurn, buildPrompt: parts.buildPrompt },
    models: { fallback: models.fallback, senderOf: agentServices.prompt.senderOf },
    tools,
    plugins: { turnInfoOf: core.turnInfoOf, errorOrigin: core.pluginRegistries.middleware.errorOrigin },
    progress: {
      ...{ outbox, events, outages, settings, adapter, sleep, clock, log, redact: secrets.redact },
      isWaitingForUser: approvals.questions.isAsking,
      loadStatus: lazy(() => import('../flows/turn/turn-status.ts')),
      usageOf: ({ id, sessionId }) => store.run(() => usageOfTurn(sessionId, id, 0)),
    },
    results: core.turnResults,
    endListeners: approvals.questions.turnEndListeners,
    title: titles.title,
    voice: createVoice({ media, outbox, store, settings, adapter, clock, failpoint, log }),
  })
}
