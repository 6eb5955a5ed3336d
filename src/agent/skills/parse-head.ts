/**
 * Parses the head of a SKILL.md: the YAML between two lines of `---` (agentskills.io, with the fields of Hermes). A field with a
 * wrong value is left out with a problem; only a head that cannot be read makes a skill unusable.
 */
import { asArray, asRecord, asString } from '../../lib/json.ts'
import { parseManifestYaml } from '../../lib/manifest-yaml.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import {
  isSkillName,
  maxDescriptionChars,
  type Skill,
  type SkillProblem,
  type SkillSetting,
  type SkillVariable,
} from './skill.ts'

export type SkillHead = Omit<Skill, 'category' | 'origin' | 'directory'>

const headPattern = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|$)/m

/** The YAML of the head; undefined for a text without one. */
export function headOf(text: string): string | undefined {
  const match = headPattern.exec(text)
  return match?.index === 0 ? match[1] : undefined
}

/** The instructions after the head. */
export function bodyOf(text: string): string {
  const match = headPattern.exec(text)
  return (match?.index === 0 ? text.slice(match[0].length) : text).trim()
}

/**
 * @param path of the file, for problems
 * @param folder the name of the folder, which is the name of a skill whose head has none
 */
export function parseHead(text: string, path: string, folder: string) {
  const problems: SkillProblem[] = []
  const report = (code: SkillProblem['code'], message: string, isLeftOut = false) => {
    problems.push({ path, code, message, isLeftOut })
  }
  const source = headOf(text)
  if (source === undefined) {
    report('no-head', 'it has no head; it must begin with a line ---, fields such as name, and a second line ---', true)
    return { head: undefined, problems }
  }
  const yaml = parseManifestYaml(source, path)
  const [issue] = yaml.issues
  if (issue !== undefined) {
    // The head begins in the second line of the file.
    report('broken-head', `line ${issue.line + 1}: ${issue.message}`, true)
    return { head: undefined, problems }
  }
  const fields = asRecord(yaml.value)
  const name = readName(fields['name'], folder, report)
  if (name === undefined) return { head: undefined, problems }
  const hermes = asRecord(asRecord(fields['metadata'])['hermes'])
  /** Undefined for a head that cannot be used. */
  const head: SkillHead = {
    name,
    description: readDescription(fields['description'], report),
    version: toLabel(textOf(fields['version']), 40),
    tags: textsOf(hermes['tags']),
    conditions: {
      platforms: textsOf(fields['platforms']).map((platform) => platform.toLowerCase()),
      requiresToolsets: textsOf(hermes['requires_toolsets']),
      requiresTools: textsOf(hermes['requires_tools']),
      fallbackForToolsets: textsOf(hermes['fallback_for_toolsets']),
      fallbackForTools: textsOf(hermes['fallback_for_tools']),
    },
    variables: readVariables(fields['required_environment_variables'], report),
    settings: readSettings(hermes['config']),
  }
  return { head, problems }
}

type Report = (code: SkillProblem['code'], message: string, isLeftOut?: boolean) => void

function readName(value: unknown, folder: string, report: Report): string | undefined {
  const itself = textOf(value)
  if (isSkillName(itself)) {
    if (itself !== folder)
      report('invalid-name', `its name is ${itself}, but its folder is ${folder}; rename one of them`)
    return itself
  }
  const rule = 'at most 64 small letters, digits, ".", "_" and "-"'
  if (!isSkillName(folder)) {
    report('invalid-name', `neither its name nor its folder is a valid name: ${rule}`, true)
    return undefined
  }
  if (itself !== '') report('invalid-name', `its name is invalid (${rule}); the name of its folder is used`)
  return folder
}

function readDescription(value: unknown, report: Report): string {
  const text = textOf(value)
  if (text.trim() === '')
    report('no-description', 'it has no description; without one the agent cannot know when to use it')
  if (text.length > maxDescriptionChars)
    report('invalid-field', `its description has ${text.length} characters; only ${maxDescriptionChars} are used`)
  return toLabel(text, maxDescriptionChars)
}

/** Names of programs, and what changes how every program starts, are not a skill's to set. */
const reservedVariable = /^(?:PATH|HOME|PWD|SHELL|USER|IFS|ENV|BASH_\w*|LD_\w*|DYLD_\w*|NODE_\w*|PYTHON\w*|HERMES_\w*)$/

function readVariables(value: unknown, report: Report): SkillVariable[] {
  return listOf(value).flatMap((entry) => {
    const fields = typeof entry === 'string' ? { name: entry } : asRecord(entry)
    const name = textOf(fields['name'])
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) || reservedVariable.test(name)) {
      report('invalid-field', `required_environment_variables: ${toLabel(name, 60) || 'an entry'} cannot be a variable`)
      return []
    }
    const [prompt, help, requiredFor] = [fields['prompt'], fields['help'], fields['required_for']].map((text) =>
      toLabel(textOf(text), 300),
    )
    return [{ name, prompt: prompt ?? '', help: help ?? '', requiredFor: requiredFor ?? '' }]
  })
}

function readSettings(value: unknown): SkillSetting[] {
  return listOf(value).flatMap((entry) => {
    const fields = asRecord(entry)
    const key = textOf(fields['key'])
    if (!/^[\w-]+(?:\.[\w-]+)*$/.test(key)) return []
    return [{ key, description: toLabel(textOf(fields['description']), 300), default: fields['default'] ?? '' }]
  })
}

const maxListed = 50

function listOf(value: unknown): readonly unknown[] {
  return (Array.isArray(value) ? asArray(value) : value === undefined || value === null ? [] : [value]).slice(
    0,
    maxListed,
  )
}

/** A list of texts, or one text. */
function textsOf(value: unknown): string[] {
  return listOf(value)
    .map((entry) => toLabel(textOf(entry), 100))
    .filter((text) => text !== '')
}

/** A number, as in `version: 1.0`, is meant as a text. */
function textOf(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : asString(value)
}
