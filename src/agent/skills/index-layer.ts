/**
 * The index of the skills in the system prompt: their names and short descriptions by category. Full texts are read with
 * `skill_view` when they are needed, so that many skills cost little.
 */
import { shorten } from '../../lib/visible-text.ts'
import type { Skill, SkillConditions } from './skill.ts'

/** What a session offers. */
export interface SkillFacts {
  readonly toolNames: ReadonlySet<string>
  readonly toolsets: ReadonlySet<string>
  /** `process.platform` */
  readonly system: string
}

/** Some 3,000 tokens: three bytes each are few. */
const maxBytes = 9_000
/** Characters of a description, as many as fit. */
const widths = [100, 60, 36, 20, 0]

const systems: Readonly<Record<string, readonly string[]>> = {
  darwin: ['macos', 'darwin', 'osx'],
  linux: ['linux'],
  win32: ['windows', 'win32'],
}

/** Whether a skill is of use in a session: the system fits, and so do the tools. */
export function isApplicable({ conditions }: { readonly conditions: SkillConditions }, facts: SkillFacts): boolean {
  const { toolNames, toolsets } = facts
  const { fallbackForTools, fallbackForToolsets } = conditions
  const fallbacks = fallbackForTools.length + fallbackForToolsets.length
  const isSubstitute = fallbackForTools.some(lacks(toolNames)) || fallbackForToolsets.some(lacks(toolsets))
  return (
    fitsSystem(conditions, facts.system) &&
    conditions.requiresTools.every((name) => toolNames.has(name)) &&
    conditions.requiresToolsets.every((name) => toolsets.has(name)) &&
    (fallbacks === 0 || isSubstitute)
  )
}

export function fitsSystem({ platforms }: Pick<SkillConditions, 'platforms'>, system: string): boolean {
  return platforms.length === 0 || platforms.some((platform) => systems[system]?.includes(platform) === true)
}

const lacks = (available: ReadonlySet<string>) => (name: string) => !available.has(name)

/** '' without skills, and where the session cannot read them. Equal skills give equal bytes. */
export function formatSkillIndex(skills: readonly Skill[], facts: SkillFacts): string {
  if (!facts.toolNames.has('skill_view')) return ''
  const shown = skills.filter((skill) => skill.origin !== 'plugin' && isApplicable(skill, facts))
  if (shown.length === 0) return ''
  const intro = facts.toolNames.has('skill_manage') ? `${readRule} ${keepRule}` : readRule
  const list = widths.map((width) => formatList(shown, width)).find((text) => Buffer.byteLength(text) <= maxBytes)
  return `${intro}\n${list ?? formatStart(shown)}`
}

const readRule = 'Before work that a skill fits, read it with skill_view and follow it.'
/** Skills over tools (seed 004). */
const keepRule = 'Prefer a skill to a new tool; save what worked with skill_manage.'

function formatList(skills: readonly Skill[], width: number): string {
  const lines: string[] = []
  let category: string | undefined
  for (const skill of skills) {
    if (skill.category !== category) lines.push(`${skill.category || 'general'}:`)
    category = skill.category
    const description = width === 0 ? '' : shortDescription(skill.description, width)
    lines.push(description === '' ? `- ${skill.name}` : `- ${skill.name}: ${description}`)
  }
  return lines.join('\n')
}

/** The first sentence, which says what the skill does, or as much of it as fits. */
function shortDescription(description: string, width: number): string {
  const sentence = /^.*?(?=\.(?:\s|$))/.exec(description)?.[0] ?? description
  return shorten(sentence, width)
}

/** More names than fit. */
function formatStart(skills: readonly Skill[]): string {
  const lines = formatList(skills, 0).split('\n')
  let bytes = 100
  const fitting = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1
    return bytes > maxBytes
  })
  const shown = lines.slice(0, fitting === -1 ? lines.length : fitting)
  const missing = skills.length - shown.filter((line) => line.startsWith('- ')).length
  return `${shown.join('\n')}\n… and ${missing} more: skills_list`
}
