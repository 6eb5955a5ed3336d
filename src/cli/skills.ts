/**
 * `hermes skills`: the skills of the agent.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { InstallError, installSkills } from '../agent/skills/install-skill.ts'
import { isSkillName, type Skill, type SkillProblem, skillFile } from '../agent/skills/skill.ts'
import { listLinkedFiles, readInstructions } from '../agent/skills/view-skill.ts'
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { HermesError } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { writeFileAtomic } from '../lib/files.ts'
import { toSingleLine, toVisibleLines } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Cell, createDisplay, type Display } from './kit/display.ts'
import { showList } from './kit/list.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { openSkills } from './shared/open-skills.ts'

export async function skillsList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { skills, problems } = await (await openSkills(context)).list()
  const problemNote = `${problems.length} problem${problems.length === 1 ? '' : 's'}: hermes skills check`
  showList(context, {
    json,
    rows: skills,
    data: skills.map(toReport),
    empty: 'There are no skills. `hermes skills new <name>` creates one.',
    headings: ['SKILL', 'CATEGORY', 'FROM', 'ABOUT'],
    cells: ({ name, category, origin, description }) => [name, category, origin, description],
    notes: problems.length > 0 ? [problemNote] : [],
  })
}

function toReport({ name, category, origin, description, version, directory, tags, variables }: Skill) {
  return { name, category, origin, description, version, directory, tags, variables }
}

/** Throws `cli/usage` for an unknown name. */
export async function skillsView(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  const skills = await openSkills(context)
  const skill = await skills.find(name)
  if (skill === undefined) {
    const { skills: all } = await skills.list()
    const nearest = findClosestMatch(
      name,
      all.map((each) => each.name),
    )
    const hint = nearest === null ? '`hermes skills list` shows them.' : `Did you mean ${nearest}?`
    throw new HermesError('cli/usage', `There is no skill ${JSON.stringify(name)}. ${hint}`)
  }
  const instructions = await readInstructions(skill)
  const files = Object.values(await listLinkedFiles(skill.directory)).flat()
  const text = instructions.ok ? instructions.text : instructions.reason
  if (!instructions.ok) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ ...toReport(skill), files, text })
  const rows: (readonly [string, Cell])[] = [
    ['Skill', skill.name],
    ['About', skill.description],
    ['Category', skill.category],
    ['Version', skill.version],
    ['From', skill.origin],
    ['Folder', skill.directory],
    ['Files', files.join(', ')],
    ...skills.variables
      .missing(skill)
      .map((problem): readonly [string, Cell] => ['Missing', { text: problem, tone: 'warn' }]),
  ]
  display.fields(rows.filter(([, value]) => value !== ''))
  display.line()
  for (const line of toVisibleLines(text)) display.line(line)
}

/** Throws `cli/usage` for an invalid or existing name. */
export async function skillsNew(
  context: CliContext,
  name: string,
  { category = '' }: { readonly category?: string },
): Promise<void> {
  assertHomeUsable(context)
  if (!isSkillName(name) || (category !== '' && !isSkillName(category)))
    throw new HermesError('cli/usage', 'A name has at most 64 small letters, digits, ".", "_" and "-".')
  const folder = join(context.home.skills, category, name)
  if (existsSync(folder)) throw new HermesError('cli/usage', `${folder} already exists.`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, skillFile)
  writeFileAtomic(file, template(name))
  context.output.write(
    `Wrote ${file}.\nWrite what the agent has to do, step by step. New conversations know it.\nCheck it: hermes skills check\nTry it in a chat: /${name}\n`,
  )
}

function template(name: string): string {
  return `---
name: ${name}
description: One sentence about what it does. Use it when …
version: 0.1.0
metadata:
  hermes:
    tags: []
---

# ${name}

1. What to look at first, with the command for it.
2. What to do, step by step.
3. How to check the result.
4. What to answer.
`
}

/** Throws `cli/usage` when nothing was installed. */
export async function skillsInstall(
  context: CliContext,
  source: string,
  { category = '', replace }: { readonly category?: string; readonly replace: boolean },
): Promise<void> {
  assertHomeUsable(context)
  try {
    const skills = await openSkills(context)
    const replaced = new Map<string, Skill>()
    const installed = await installSkills({
      source: resolve(source),
      root: context.home.skills,
      category,
      replace,
      async find(name) {
        const skill = await skills.find(name)
        if (skill?.origin === 'home') return skill
        if (skill !== undefined) replaced.set(name, skill)
        return undefined
      },
    })
    for (const { name, directory, warnings, variables } of installed) {
      context.output.write(`Installed ${toSingleLine(name)} in ${toSingleLine(directory)}.\n`)
      if (variables.length > 0)
        context.output.write(`Commands of conversations that load ${name} get the variables ${variables.join(', ')}.\n`)
      const former = replaced.get(name)
      if (former !== undefined)
        context.output.write(`It is used in place of the one in ${toSingleLine(former.directory)}.\n`)
      for (const warning of warnings) context.errors.write(`${toSingleLine(name)}: ${toSingleLine(warning)}\n`)
    }
    context.output.write('New conversations know it. Read what it makes the agent do: hermes skills view <name>\n')
  } catch (error) {
    if (error instanceof InstallError) throw new HermesError('cli/usage', error.message, { cause: error })
    throw error
  }
}

/** Exit code 1 when a skill is left out. */
export async function skillsCheck(context: CliContext, { json }: JsonOption): Promise<void> {
  const skills = await openSkills(context)
  const { skills: listed, problems } = await skills.list()
  const blocked = await Promise.all(listed.map(checkInstructions))
  const all = [...problems, ...blocked.flat()]
  if (all.some(({ isLeftOut }) => isLeftOut)) context.exitCode = exitCodes.failed
  const missing = listed.flatMap((skill) => skills.variables.missing(skill).map((text) => `${skill.name}: ${text}`))
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ skills: listed.length, problems: all, missing_variables: missing })
  printProblems(display, all)
  for (const text of missing) display.line(toSingleLine(text))
  const counted = all.length === 0 ? 'no problems' : `${all.length} problem${all.length === 1 ? '' : 's'}`
  display.line(`${listed.length} skills, ${counted}`)
}

async function checkInstructions(skill: Skill): Promise<SkillProblem[]> {
  const instructions = await readInstructions(skill)
  if (instructions.ok) return []
  const path = join(skill.directory, skillFile)
  const code = instructions.code === 'suspicious' ? 'suspicious' : 'unreadable'
  return [{ path, code, message: instructions.reason, isLeftOut: true }]
}

function printProblems(display: Display, problems: readonly SkillProblem[]): void {
  for (const { path, message, isLeftOut } of problems)
    display.line(
      `${display.tone(isLeftOut ? 'bad' : 'warn', isLeftOut ? 'left out' : 'warning')}  ${toSingleLine(`${path}: ${message}`)}`,
    )
}
