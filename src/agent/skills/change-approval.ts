/**
 * Which changes of skills an owner must allow. What one conversation writes, later ones follow with the rights of their own people,
 * and variables that a skill declares reach commands.
 */
import { join } from 'node:path'
import type { Role } from '../../message/authority.ts'
import { readTextFile } from '../support/files.ts'
import { replaceText } from '../support/replace-text.ts'
import type { SkillChange } from './manage-skill.ts'
import { parseHead } from './parse-head.ts'
import { maxSkillBytes, type Skill, skillFile } from './skill.ts'

/**
 * Returns why an owner must allow the change: a sentence; '' when no one is asked. Rejects with system errors.
 *
 * @param asksAlways `skills.write_approval`
 */
export async function changeApproval(
  find: (name: string) => Promise<Skill | undefined>,
  asksAlways: boolean,
  change: SkillChange,
  role: Role,
): Promise<string> {
  const about = `The agent wants to change the skill ${change.name} (${change.action}). Later conversations follow it.`
  if (asksAlways || role !== 'owner') return about
  const skill = await find(change.name)
  const known = new Set(skill?.origin === 'home' ? skill.variables.map(({ name }) => name) : [])
  const added = variablesOf(await newText(change, skill)).filter((name) => !known.has(name))
  return added.length === 0 ? '' : `${about} Its commands would get the variables ${added.join(', ')} of the gateway.`
}

/** The SKILL.md that the change would write; '' for none. */
async function newText(
  { action, content = '', file_path: filePath = skillFile, old_string: search = '', new_string: text }: SkillChange,
  skill: Skill | undefined,
): Promise<string> {
  if (action === 'create' || action === 'edit') return content
  if (action !== 'patch' || filePath !== skillFile || skill?.origin !== 'home') return ''
  if (search === '' || text === undefined) return ''
  const file = await readTextFile(join(skill.directory, skillFile), skillFile, maxSkillBytes)
  const replaced = file.ok ? replaceText({ text: file.text, search, replacement: text, all: false }) : file
  return replaced.ok ? replaced.text : ''
}

function variablesOf(text: string): string[] {
  return parseHead(text, skillFile, 'skill').head?.variables.map(({ name }) => name) ?? []
}
