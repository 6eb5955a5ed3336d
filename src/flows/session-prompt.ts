/**
 * Builds the system prompt of a new session and freezes it with the session.
 */

import type { AgentConfig } from '../agent/config.ts'
import { buildSystemPrompt } from '../agent/system-prompt.ts'
import { readTextIfExists } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { Target } from '../message/source.ts'
import type { PlatformAdapter } from '../platforms/adapter.ts'
import type { PluginMemory } from '../plugins/plugin-memory.ts'
import type { PromptSections } from '../plugins/prompt-sections.ts'
import { freezePrompt } from '../sessions/transcript.ts'
import type { Store } from '../store/store.ts'
import type { AccountDirectory } from './account-directory.ts'
import type { AgentServices } from './agent-services.ts'
import type { Turn } from './turn/claim.ts'

export interface SessionPromptDeps {
  readonly home: HomeLayout
  readonly store: Store
  readonly settings: () => Pick<AgentConfig, 'personality' | 'personalities' | 'security' | 'terminal'>
  readonly accountDirectory: AccountDirectory
  readonly agentServices: AgentServices
  /** Takes the gateway's own secrets out of files. */
  redact(text: string): string
  /** What the last scan of a file found; empty for a harmless file. */
  onScanned(path: string, ids: readonly string[]): void
  readonly log: Logger
  readonly clock: () => number
  /** Of plugins. */
  readonly memory: Pick<PluginMemory, 'promptBlock'>
  /** Of plugins. */
  readonly sections: Pick<PromptSections, 'render'>
  /** The adapter of a connected account. */
  adapter(target: Pick<Target, 'platform' | 'account'>): Pick<PlatformAdapter, 'sendsAttachments'> | undefined
}

/** Resolves with the prompt once it is stored. Rejects `store/…`. */
export function createPromptFreezer(deps: SessionPromptDeps): (turn: Turn) => Promise<string> {
  const { store, accountDirectory, agentServices, memory, sections, clock } = deps
  return async (turn) => {
    const { sessionId } = turn
    const { source, seed, task } = turn.event
    const basePrompt = buildSystemPrompt({
      persona: await readPersona(deps, turn.settings.personality),
      instructions: seed?.instructions ?? '',
      platform: accountDirectory.platform(source.platform)?.label ?? source.platform,
      chatName: source.chatType === 'dm' ? '' : (source.chatName ?? ''),
      background: task !== undefined,
      shared: accountDirectory.isShared(source),
      cwd: agentServices.cwd(),
      hasTools: (await agentServices.tools(turn)).schemas().length > 0,
      contextFiles: await readProjectFiles(deps),
      sendsFiles: deps.adapter(task?.deliver ?? source)?.sendsAttachments === true,
      today: new Date(clock()).toISOString().slice(0, 10),
    })
    const { platform, userId = '' } = source
    const pluginSections = await Promise.all([
      // A background task has no user whom a memory could know.
      task === undefined ? memory.promptBlock({ sessionId, platform, userId }) : '',
      sections.render({ sessionId, platform }),
    ])
    const text = [basePrompt, ...pluginSections].filter((part) => part !== '').join('\n\n')
    await store.run(() => freezePrompt(sessionId, text))
    return text
  }
}

/** The chosen personality after SOUL.md, or the configured persona file alone. */
async function readPersona(deps: SessionPromptDeps, chosen: string | undefined): Promise<string> {
  const { personality: configured, personalities } = deps.settings()
  // What was chosen may be gone from the configuration.
  const name = [chosen, configured].find((one) => one !== undefined && Object.hasOwn(personalities, one))
  const entry = name === undefined ? undefined : personalities[name]
  if (entry === undefined) return await readConfiguredPersona(deps, configured)
  const file = await readPersonaFile(deps, Object.hasOwn(personalities, configured) ? defaultPersonaFile : configured)
  const text = typeof entry === 'string' ? entry : entry.system_prompt
  return [file.trim(), text.trim()].filter((part) => part !== '').join('\n\n')
}

const defaultPersonaFile = 'SOUL.md'

/** A file of Hermes Agent may name a personality that only Hermes has: SOUL.md counts then. */
async function readConfiguredPersona(deps: SessionPromptDeps, name: string): Promise<string> {
  if (name === defaultPersonaFile) return await readPersonaFile(deps, name)
  const text = name.trim() === '' ? '' : await readPersonaFile(deps, name)
  if (text !== '') return text
  const { log } = deps
  log.warn({ event: 'prompt.personality_unknown', name }, 'the personality is neither in `personalities` nor a file')
  return await readPersonaFile(deps, defaultPersonaFile)
}

/** The persona file is the owner's. If it cannot be read, the default identity is used and the log says why. */
async function readPersonaFile({ home, settings, log, onScanned }: SessionPromptDeps, name: string): Promise<string> {
  const { security } = settings()
  const path = name === defaultPersonaFile ? home.soulFile : `${home.root}/${name}`
  try {
    const text = readTextIfExists(path, 65_536) ?? ''
    if (text === '') return ''
    const { scan, blockedText } = await import('../agent/context-files/scan.ts')
    const ids = scan(text, 'context')
    onScanned(path, ids)
    if (ids.length === 0) return text
    log.warn({ event: 'prompt.persona_suspicious', path, ids }, 'the persona file looks like a prompt injection')
    return security.scan_soul === 'block' ? blockedText(name, ids) : text
  } catch (error) {
    log.warn({ event: 'prompt.persona_unreadable', file: name, err: error }, 'the persona file cannot be read')
    return ''
  }
}

/** Only of this machine. */
async function readProjectFiles({ agentServices, settings, redact, onScanned, log }: SessionPromptDeps) {
  if (settings().terminal.backend !== 'local') return []
  const { readContextFiles } = await import('../agent/context-files/read-context-files.ts')
  return await readContextFiles(agentServices.cwd(), { redact, onScanned, log })
}
