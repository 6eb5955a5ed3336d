/**
 * Parts of the system prompt that plugins contribute: rendered once, when a session's prompt is frozen with it, so that
 * the beginning of every request of the session stays the same to the byte.
 */
import type { Logger } from '../lib/log.ts'
import type { Awaitable, Registration } from '../middleware/contract.ts'
import type { PromptSectionContext } from './contract.ts'
import { type AnyCallback, type Callback, createCallback } from './hooks/callback.ts'
import { createWarnOnce } from './warn-once.ts'

export interface PromptSectionsDeps {
  readonly log: Logger
  readonly now: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** For one section, ms; 0 for none. */
  timeoutMs(): number
}

export interface PromptSections {
  /** A second section of the same name and plugin takes the place of the first until it is taken away. */
  register(
    owner: string,
    name: string,
    section: string | ((about: PromptSectionContext) => Awaitable<string | null>),
  ): Registration
  /** What a new session's prompt ends with; '' for nothing. A section that fails or is too slow is left out. Never rejects. */
  render(about: PromptSectionContext): Promise<string>
}

/** The contract's limits (§2.4), in characters. */
const maxSectionChars = 4_000
const maxTotalChars = 8_000
const maxSections = 32

interface Section {
  readonly owner: string
  readonly name: string
  readonly callback: Callback
}

export function createPromptSections(deps: PromptSectionsDeps): PromptSections {
  const warnOnce = createWarnOnce(deps.log)
  let sections: readonly Section[] = []

  /** By plugin and name, so that the order of loading changes no prompt; of two with the same name the later one. */
  function sortedSections(): readonly Section[] {
    const byName = new Map(sections.map((section) => [`${section.owner}\n${section.name}`, section]))
    return [...byName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, section]) => section)
  }

  function warnAbout({ owner, name }: Section, problem: string): void {
    warnOnce(owner, `prompt section ${name} of plugin ${owner}: ${problem}`)
  }

  async function renderSection(section: Section, about: PromptSectionContext): Promise<string> {
    const outcome = await section.callback.call({ ...about })
    const text = outcome.ok ? outcome.value : null
    if (text === null || text === undefined) return ''
    if (typeof text !== 'string') {
      warnAbout(section, 'expected a text')
      return ''
    }
    const trimmed = text.trim()
    if (trimmed.length <= maxSectionChars) return trimmed
    warnAbout(section, `only its first ${maxSectionChars} characters are used`)
    return trimmed.slice(0, maxSectionChars).toWellFormed()
  }

  return {
    register(owner, name, section) {
      const render: AnyCallback = (about: PromptSectionContext) =>
        typeof section === 'string' ? section : section(about)
      const callback = createCallback({ ...deps, owner, point: `section ${name}`, callback: render })
      const registered = { owner, name, callback }
      sections = [...sections, registered]
      return {
        name,
        remove() {
          const before = sections.length
          sections = sections.filter((one) => one !== registered)
          return sections.length < before
        },
      }
    },

    async render(about) {
      const all = sortedSections()
      for (const section of all.slice(maxSections))
        warnAbout(section, `it is left out: a prompt has at most ${maxSections} sections`)
      const rendered = await Promise.all(
        all.slice(0, maxSections).map(async (section) => ({ section, text: await renderSection(section, about) })),
      )
      const used: string[] = []
      let chars = 0
      for (const { section, text } of rendered) {
        if (text === '') continue
        if (chars + text.length > maxTotalChars) {
          warnAbout(section, `it is left out: all sections together have at most ${maxTotalChars} characters`)
          continue
        }
        chars += text.length
        used.push(text)
      }
      return used.join('\n\n')
    },
  }
}
