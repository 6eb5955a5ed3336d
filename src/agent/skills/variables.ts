/**
 * The environment variables that skills declare. They reach the commands of a conversation after it has loaded the skill, and
 * only those that the operator has set and that are no credential of the gateway.
 */
import { createLruCache } from '../../lib/cache.ts'
import type { ChatMessage, ToolMessage } from '../../message/transcript.ts'
import { isGatewayCredential } from '../environments/passed-variables.ts'
import { invocationLine } from './invocation.ts'
import type { Skill, SkillVariable } from './skill.ts'

export interface SkillVariables {
  /** The conversation has loaded the skill. */
  loaded(sessionId: string, skill: Skill): void
  /**
   * What the commands of the conversation get. Skills that an earlier process loaded are found in the transcript, and in
   * `earlier`: messages that it does not contain any more.
   */
  of(
    conversation: SkillConversation,
    find: (name: string) => Promise<Skill | undefined>,
  ): Promise<Readonly<Record<string, string>>>
  /** One sentence for each variable that is not set, or that no skill may have. */
  missing(skill: Pick<Skill, 'variables'>): string[]
}

export interface SkillConversation {
  readonly sessionId: string
  transcript(): readonly ChatMessage[]
  readonly earlier: readonly ChatMessage[]
}

interface LoadedVariables {
  readonly names: readonly string[]
  /** How many messages of the transcript were searched. */
  readonly examined: number
}

const nothingLoaded: LoadedVariables = { names: [], examined: 0 }

const maxSessions = 1_000

/**
 * @param environment of the gateway, with .env
 * @param withheld variables that no command may see, whatever a skill declares
 * @param credentials the secrets in the configuration of the gateway; no variable with one of these values is passed on
 */
export function createSkillVariables(
  environment: () => Readonly<Record<string, string | undefined>>,
  withheld: readonly string[],
  credentials: () => readonly string[],
): SkillVariables {
  const sessions = createLruCache<LoadedVariables>(maxSessions)
  const withheldNames = new Set(withheld)
  const isWithheld = (name: string) =>
    withheldNames.has(name) ||
    isGatewayCredential(name) ||
    // A skill may be from elsewhere: it sets no switch of the gateway.
    /^(?:HERMES|GATEWAY)_/.test(name) ||
    credentials().includes(environment()[name] ?? '')

  function describeMissing({ name, prompt, help, requiredFor }: SkillVariable): string[] {
    const purpose = requiredFor === '' ? '' : ` (for ${requiredFor})`
    if (isWithheld(name)) return [`${name}${purpose} is a credential of the gateway; no skill gets it.`]
    if ((environment()[name] ?? '') !== '') return []
    const about = [prompt, help].filter((text) => text !== '').join(' ')
    const where = 'The operator sets it in .env of the gateway; never ask for its value in the chat.'
    return [`${name} is not set${purpose}. ${[about, where].filter((text) => text !== '').join(' ')}`]
  }

  return {
    loaded(sessionId, { variables }) {
      if (variables.length === 0) return
      const { names, examined } = sessions.get(sessionId) ?? nothingLoaded
      sessions.set(sessionId, { names: [...names, ...variables.map(({ name }) => name)], examined })
    },
    async of({ sessionId, transcript, earlier }, find) {
      const { names, examined } = sessions.get(sessionId) ?? nothingLoaded
      const messages = transcript()
      // A compressed transcript is shorter.
      const newMessages = messages.slice(examined > messages.length ? 0 : examined)
      const loaded = await Promise.all([...new Set([...loadedNames(earlier), ...loadedNames(newMessages)])].map(find))
      const all = [...new Set([...names, ...loaded.flatMap((skill) => skill?.variables ?? []).map(({ name }) => name)])]
      sessions.set(sessionId, { names: all, examined: messages.length })
      const values: Record<string, string> = {}
      for (const name of all) {
        const value = environment()[name] ?? ''
        if (value !== '' && !isWithheld(name)) values[name] = value
      }
      return values
    },
    missing: ({ variables }) => variables.flatMap(describeMissing),
  }
}

const invocationPattern = new RegExp(`^\\[${invocationLine} ([\\w.:-]+), in `, 'gm')

/** The skills that a conversation has loaded: by `/name` in messages of people, and by calls of `skill_view` that succeeded. */
function loadedNames(transcript: readonly ChatMessage[]): string[] {
  const succeeded = new Set(transcript.flatMap((message) => (isSuccess(message) ? [message.toolCallId] : [])))
  const names = transcript.flatMap((message) => {
    if (message.role === 'user') return [...message.content.matchAll(invocationPattern)].map(([, name = '']) => name)
    if (message.role !== 'assistant') return []
    const views = (message.toolCalls ?? []).filter(({ id, name }) => name === 'skill_view' && succeeded.has(id))
    return views.map((call) => viewedName(call.arguments))
  })
  return [...new Set(names)].filter((name) => name !== '')
}

function isSuccess(message: ChatMessage): message is ToolMessage {
  return message.role === 'tool' && message.name === 'skill_view' && !/^\s*\{\s*"error"/.test(message.content)
}

function viewedName(argumentsJson: string): string {
  return /"name"\s*:\s*"([\w.:-]{1,200})"/.exec(argumentsJson)?.[1] ?? ''
}
