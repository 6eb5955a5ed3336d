/**
 * Builds the system prompt of a new session. The turn freezes it with what it writes first.
 */

import type { AgentConfig } from '../../agent/config.ts'
import type { ContextFile } from '../../agent/context-files/read-context-files.ts'
import { buildPromptLayers, joinLayers, type PromptLayer } from '../../agent/system-prompt.ts'
import { createFileMemo, type FileMemo } from '../../lib/file-memo.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { PluginMemory } from '../../plugins/plugin-memory.ts'
import type { PromptSections } from '../../plugins/prompt-sections.ts'
import type { FrozenPrompt } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { Store } from '../../store/store.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { AgentServices } from '../tools/agent-services.ts'

/** What the layers of a prompt may depend on. */
export interface PromptFacts {
  readonly sessionId: string
  readonly platform: string
  /** '' for a message that names no user. */
  readonly userId: string
  readonly authority: Authority
  /** Several people share the session. */
  readonly isShared: boolean
  /** The session belongs to a background task, which no user follows. */
  readonly isBackground: boolean
  /** The tools that the session is offered. */
  readonly toolNames: readonly string[]
  /** The toolsets of which the session has a tool. */
  toolsets(): Promise<ReadonlySet<string>>
}

export interface SessionPromptDeps {
  readonly home: HomeLayout
  readonly store: Store
  readonly settings: () => Pick<AgentConfig, 'personality' | 'personalities' | 'security' | 'terminal' | 'timezone'>
  readonly accountDirectory: AccountDirectory
  readonly agentServices: Pick<AgentServices, 'tools' | 'environments'>
  /** Takes the gateway's own secrets out of files. */
  redact(text: string): string
  /** What the last scan of a file found; empty for a harmless file. */
  onScanned(path: string, ids: readonly string[]): void
  readonly log: Logger
  readonly clock: () => number
  /** The layers of the agent's own knowledge; '' for none. Never reject. */
  readonly knowledge: {
    memory(): Promise<{ prompt(facts: PromptFacts): string }>
    skills(facts: PromptFacts): Promise<string>
  }
  /** The memory of plugins. */
  readonly memory: Pick<PluginMemory, 'promptBlock'>
  /** The sections of plugins. */
  readonly sections: Pick<PromptSections, 'render'>
  /** The adapter of a connected account. */
  adapter(target: Pick<Target, 'platform' | 'account'>): Pick<PlatformAdapter, 'sendsAttachments'> | undefined
}

/** The first turn of a session, or one that is only imagined, to show its prompt. */
export type PromptTurn = Pick<Turn, 'sessionId' | 'sessionKey' | 'event' | 'authority' | 'settings'>

/** Builds what all requests of a new session begin with. Stores nothing. */
export function createPromptBuilder(deps: SessionPromptDeps): (turn: Turn) => Promise<FrozenPrompt> {
  const readLayers = createPromptReader(deps)
  return async (turn) => {
    const text = joinLayers(await readLayers(turn))
    return { text, toolNames: await deps.agentServices.tools.namesForSession(turn) }
  }
}

/** What the layers of earlier prompts were made of. */
interface KnownParts {
  readonly dateIn: ReturnType<typeof createDates>
  readonly personas: FileMemo<Promise<ScannedText>>
  readonly projects: FileMemo<Promise<readonly ContextFile[]>>
}

/** Folders in which single conversations work, and files of personas, of which the texts are remembered. */
const maxRemembered = 64

/** Reads the system prompt of a new session, and of files only what has changed. Stores nothing. */
export function createPromptReader(deps: SessionPromptDeps): (turn: PromptTurn) => Promise<readonly PromptLayer[]> {
  const known: KnownParts = {
    dateIn: createDates(),
    personas: createFileMemo(maxRemembered),
    projects: createFileMemo(maxRemembered),
  }
  return (turn) => readPromptLayers(deps, known, turn)
}

async function readPromptLayers(
  deps: SessionPromptDeps,
  known: KnownParts,
  turn: PromptTurn,
): Promise<readonly PromptLayer[]> {
  const { accountDirectory, agentServices, knowledge, memory, sections, clock } = deps
  const { sessionId, sessionKey, authority } = turn
  const { source, seed, task } = turn.event
  const { platform, userId = '' } = source
  const manifest = accountDirectory.platform(platform)
  const toolNames = (await agentServices.tools.forTurn(turn)).schemas().map(({ name }) => name)
  const isShared = accountDirectory.isShared(source)
  const isBackground = task !== undefined
  const facts = {
    sessionId,
    platform,
    userId,
    authority,
    isShared,
    isBackground,
    toolNames,
    toolsets: () => agentServices.tools.toolsetsOf(toolNames),
  }
  const [ownMemory, providerMemory, skills, pluginSections] = await Promise.all([
    knowledge.memory().then(({ prompt }) => prompt(facts)),
    // A background task has no user whom a provider could know.
    isBackground
      ? ''
      : memory.promptBlock({
          sessionId,
          sessionKey,
          platform,
          chatType: source.chatType,
          userId,
          role: authority.role,
        }),
    knowledge.skills(facts),
    sections.render({ sessionId, platform }),
  ])
  return buildPromptLayers({
    persona: await readPersona(deps, known, turn.settings.personality),
    instructions: seed?.instructions ?? '',
    platform: manifest?.label ?? platform,
    chatName: source.chatType === 'dm' ? '' : (source.chatName ?? ''),
    background: isBackground,
    shared: isShared,
    cwd: placeOf(deps.settings().terminal, turn.settings.workspace ?? agentServices.environments.cwd()),
    hasTools: toolNames.length > 0,
    memory: [ownMemory, providerMemory].filter((text) => text !== '').join('\n\n'),
    skills,
    pluginSections,
    contextFiles: await readProjectFiles(deps, known, turn.settings.workspace),
    sendsFiles: deps.adapter(task?.deliver ?? source)?.sendsAttachments === true,
    platformHint: manifest?.promptHint ?? '',
    maxMessageChars: manifest?.limits.maxChars ?? Number.POSITIVE_INFINITY,
    ...known.dateIn(deps.settings().timezone, clock()),
  })
}

interface PromptDate {
  readonly today: string
  readonly timeZone: string
}

/**
 * Returns the day in the configured time zone, or else in that of the machine. Making a formatter takes 0.3 ms, so the last one
 * is used again.
 */
function createDates(): (timezone: string, now: number) => PromptDate {
  let last: { readonly timezone: string; readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (timezone, now) => {
    if (last?.timezone !== timezone) {
      const timeZone = timezone === '' ? new Intl.DateTimeFormat().resolvedOptions().timeZone : timezone
      // The dates of Sweden are ISO 8601.
      last = { timezone, timeZone, format: new Intl.DateTimeFormat('sv-SE', { timeZone }) }
    }
    return { today: last.format.format(now), timeZone: last.timeZone }
  }
}

/** The chosen personality after SOUL.md, or the configured persona file alone. */
async function readPersona(deps: SessionPromptDeps, known: KnownParts, chosen: string | undefined): Promise<string> {
  const { personality: configured, personalities } = deps.settings()
  // What was chosen may be gone from the configuration.
  const name = [chosen, configured].find(
    (personality) => personality !== undefined && Object.hasOwn(personalities, personality),
  )
  const entry = name === undefined ? undefined : personalities[name]
  if (entry === undefined) return await readConfiguredPersona(deps, known, configured)
  const fileName = Object.hasOwn(personalities, configured) ? defaultPersonaFile : configured
  const file = await readPersonaFile(deps, known, fileName)
  return [file.trim(), personalityText(entry)].filter((part) => part !== '').join('\n\n')
}

function personalityText(entry: AgentConfig['personalities'][string]): string {
  if (typeof entry === 'string') return entry.trim()
  const { system_prompt, tone, style } = entry
  const lines = [system_prompt.trim(), tone && `Tone: ${tone.trim()}`, style && `Style: ${style.trim()}`]
  return lines.filter((line) => line !== '').join('\n')
}

const defaultPersonaFile = 'SOUL.md'

/** A file of Hermes Agent may name a personality that only Hermes has: SOUL.md counts then. */
async function readConfiguredPersona(deps: SessionPromptDeps, known: KnownParts, name: string): Promise<string> {
  if (name === defaultPersonaFile) return await readPersonaFile(deps, known, name)
  const text = name.trim() === '' ? '' : await readPersonaFile(deps, known, name)
  if (text !== '') return text
  const { log } = deps
  log.warn({ event: 'prompt.personality_unknown', name }, 'the personality is neither in `personalities` nor a file')
  return await readPersonaFile(deps, known, defaultPersonaFile)
}

/** The persona file is the owner's. If it cannot be read, the default identity is used and the log says why. */
async function readPersonaFile(
  { home, settings, log, onScanned }: SessionPromptDeps,
  { personas }: KnownParts,
  name: string,
): Promise<string> {
  const path = name === defaultPersonaFile ? home.soulFile : `${home.root}/${name}`
  try {
    const { text, ids, blocked } = await personas(path, async (lookAt) => {
      lookAt(path)
      const persona = await readScannedText(path, name)
      const { ids } = persona
      onScanned(path, ids)
      if (ids.length > 0)
        log.warn({ event: 'prompt.persona_suspicious', path, ids }, 'the persona file looks like a prompt injection')
      return persona
    })
    return ids.length > 0 && settings().security.scan_soul === 'block' ? blocked : text
  } catch (error) {
    log.warn({ event: 'prompt.persona_unreadable', file: name, err: error }, 'the persona file cannot be read')
    return ''
  }
}

interface ScannedText {
  readonly text: string
  /** What the scan has found. */
  readonly ids: readonly string[]
  /** Replaces the text where it must not be used. */
  readonly blocked: string
}

/** Throws where the file cannot be read. */
async function readScannedText(path: string, name: string): Promise<ScannedText> {
  const text = readTextIfExists(path, 65_536) ?? ''
  if (text === '') return { text, ids: [], blocked: '' }
  const { scan, blockedText } = await import('../../agent/context-files/scan.ts')
  const ids = scan(text, 'context')
  return { text, ids, blocked: blockedText(name, ids) }
}

const isHere = ({ backend }: AgentConfig['terminal']) => backend === 'local' || backend === 'bwrap'

/** Where commands run, for the model. */
function placeOf(terminal: AgentConfig['terminal'], cwd: string): string {
  if (isHere(terminal)) return cwd
  return terminal.cwd === '' ? terminal.backend : `${terminal.cwd} (${terminal.backend})`
}

/** Only of this machine. */
async function readProjectFiles(
  { agentServices, settings, redact, onScanned, log }: SessionPromptDeps,
  { projects }: KnownParts,
  workspace: string | undefined,
): Promise<readonly ContextFile[]> {
  if (!isHere(settings().terminal)) return []
  const folder = workspace ?? agentServices.environments.cwd()
  const files = await projects(folder, async (lookAt) => {
    const { readContextFiles } = await import('../../agent/context-files/read-context-files.ts')
    return await readContextFiles(folder, onScanned, log, lookAt)
  })
  return files.map((file) => ({ ...file, text: redact(file.text) }))
}
