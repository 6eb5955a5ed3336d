/**
 * Composes the steps around the loop of a turn: the journal, the preparation of messages, compression, speech, titles and sub-agents in the background.
 */

import { createSessionCompression, type SessionCompression } from '../flows/compression/session-compression.ts'
import type { OwnMemory } from '../flows/prompt/own-memory.ts'
import type { SessionTitles } from '../flows/sessions/session-titles.ts'
import type { StartSubagents } from '../flows/tasks/background-subagents.ts'
import type { DelegatedTurns } from '../flows/tasks/delegated-turns.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { createMessagePreparation, type MessagePreparation } from '../flows/turn/attachments.ts'
import { createTurnJournal, type TurnJournal } from '../flows/turn/journal.ts'
import { systemRandom } from '../lib/ids.ts'
import { sleep } from '../lib/timers.ts'
import { createAttachmentDownloader } from '../media/attachment-downloader.ts'
import { hasWaitingUser } from '../message/event.ts'
import { targetOf } from '../message/source.ts'
import type { Turn } from '../sessions/turn.ts'
import type { TurnDeps } from '../turn.ts'
import type { SkillRuntime } from './compose-skills.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

export function composeTurnJournal(
  { settings, accountDirectory, store, lifecycle: { stopping }, secrets, clock, failpoint }: AppContext,
  { outbox, engine, sessionServices, endRevokedMessage }: Core,
  { hasRunningCommand }: AgentServices,
  preparation: () => Pick<MessagePreparation, 'prepareSteered'>,
): TurnJournal {
  const { isShared, routeOf, authorityOf, lowerAuthority, isRevoked } = accountDirectory
  const { sessionReplaced } = sessionServices
  async function openReset() {
    const { createResetIfDue } = await import('../flows/turn/automatic-reset.ts')
    return createResetIfDue({ settings, outbox, hasRunningCommand, sessionReplaced })
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
    agentServices: { toolListOf, media: openMedia },
  }: { readonly journal: TurnJournal; readonly skills: SkillRuntime; readonly agentServices: AgentServices },
): MessagePreparation {
  const { options, settings, accountDirectory, platforms, store, clock, log, failpoint } = context
  const { stopping, isDraining } = context.lifecycle
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
    isDraining,
    log,
    failpoint,
  })
}

interface CompressionParts extends Pick<AgentServices, 'auxiliary' | 'model' | 'tools' | 'renameSession'> {
  readonly ownMemory: () => Promise<OwnMemory>
}

export function composeCompression(
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
    partLeftOut: ({ event, id }) => core.turnNotices.partLeftOut(event, id),
    async flushMemory(turn, messages, signal) {
      const { flushTurnMemory } = await import('../flows/prompt/memory-flush.ts')
      const deps = { ...shared, ownMemory: await ownMemory(), model, tools, isShared: accountDirectory.isShared }
      return await flushTurnMemory(deps, turn, messages, signal)
    },
  })
}

/** Loaded with the first answer that is spoken. */
export function composeSpeech(
  { settings, platforms, store, clock, failpoint, log }: AppContext,
  { outbox }: Core,
  { media }: Pick<AgentServices, 'media'>,
): NonNullable<TurnDeps['speak']> {
  return async (turn, text, signal) => {
    if (platforms.adapter(targetOf(turn.event.source))?.sendsAttachments !== true) return
    const { speakAnswer } = await import('../flows/turn/speak.ts')
    const shared = { outbox, store, clock, failpoint, log }
    await speakAnswer({ ...shared, media, maxChars: settings().tts.max_chars }, turn, text, signal)
  }
}

/** Their code is loaded with the first answer of a conversation that people can find again. */
export function composeTitles(
  { mode, settings, store, lifecycle: { stopping }, log }: AppContext,
  { outbox, turnInfoOf }: Core,
  { auxiliary, model, conversationModel }: AgentServices,
) {
  let titles: Promise<SessionTitles> | undefined
  const load = () =>
    import('../flows/sessions/session-titles.ts').then(({ createSessionTitles }) =>
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
      if (!mode.staysUp || !settings().auxiliary.title_generation.enabled) return true
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

/** What a turn has to do with sub-agents in the background. Their code is loaded with the first of them. */
export function composeDelegation(
  { mode, settings, accountDirectory, store, clock, log, failpoint }: AppContext,
  { backgroundTasks: tasks, engine, outbox }: Core,
  agentServices: AgentServices,
): Pick<TurnDeps, 'delegated' | 'startSubagents'> {
  let turns: Promise<DelegatedTurns> | undefined
  let start: StartSubagents | undefined
  return {
    delegated() {
      turns ??= import('../flows/tasks/delegated-turns.ts').then(({ createDelegatedTurns }) =>
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
    ...(mode.staysUp
      ? {
          async startSubagents(...task: Parameters<StartSubagents>) {
            const { createBackgroundSubagents } = await import('../flows/tasks/background-subagents.ts')
            start ??= createBackgroundSubagents({ tasks, settings, failpoint })
            return await start(...task)
          },
        }
      : {}),
  }
}
