/**
 * Renders the sections that plugins add to the system prompt. The prompt of a session is rendered once, so that all its
 * requests have the same prefix.
 */
import { createWarnOnce } from '../lib/warn-once.ts'
import type { Awaitable, Registration } from '../middleware/contract.ts'
import type { PromptSectionContext } from './contract.ts'
import { type AnyCallback, type Callback, type CallbackRuntime, createCallback } from './hooks/callback.ts'

export interface PromptSections {
  /** A second section of the same plugin and name replaces the first one until it is removed. */
  register(
    owner: string,
    name: string,
    section: string | ((context: PromptSectionContext) => Awaitable<string | null>),
  ): Registration
  /** The sections for a new session; '' for none. A section that fails or times out is omitted. Never rejects. */
  render(context: PromptSectionContext): Promise<string>
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

/** @param runtime its timeout limits each section */
export function createPromptSections(runtime: CallbackRuntime): PromptSections {
  const warnOnce = createWarnOnce(runtime.log)
  let sections: readonly Section[] = []

  /** Ordered by plugin and name, so that the order of loading does not change the prompt. */
  function sortedSections(): readonly Section[] {
    const byName = new Map(sections.map((section) => [`${section.owner}\n${section.name}`, section]))
    return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, section]) => section)
  }

  function warnAbout({ owner, name }: Section, issue: string): void {
    warnOnce(
      `${owner}\n${name}\n${issue}`,
      { event: 'plugin.prompt_section_issue', plugin: owner, section: name, reason: issue },
      'a prompt section of a plugin was omitted or shortened',
    )
  }

  async function renderSection(section: Section, context: PromptSectionContext): Promise<string> {
    const result = await section.callback.call({ ...context })
    const text = result.ok ? result.value : null
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
      const render: AnyCallback = (context: PromptSectionContext) =>
        typeof section === 'string' ? section : section(context)
      const callback = createCallback(runtime, owner, `section ${name}`, render)
      const registered = { owner, name, callback }
      sections = [...sections, registered]
      return {
        name,
        remove() {
          const before = sections.length
          sections = sections.filter((section) => section !== registered)
          return sections.length < before
        },
      }
    },

    async render(context) {
      const all = sortedSections()
      for (const section of all.slice(maxSections))
        warnAbout(section, `omitted: a prompt has at most ${maxSections} sections`)
      const rendered = await Promise.all(
        all.slice(0, maxSections).map(async (section) => ({ section, text: await renderSection(section, context) })),
      )
      const used: string[] = []
      let chars = 0
      for (const { section, text } of rendered) {
        if (text === '') continue
        if (chars + text.length > maxTotalChars) {
          warnAbout(section, `omitted: all sections together have at most ${maxTotalChars} characters`)
          continue
        }
        chars += text.length
        used.push(text)
      }
      return used.join('\n\n')
    },
  }
}
