/**
 * The workspace of OpenClaw: the persona, what the agent remembers, and the files that its AGENTS.md refers to.
 */

import { homedir } from 'node:os'
import { isAbsolute, relative, resolve } from 'node:path'
import { countChars, formatEntries, withoutDuplicates } from '../../../agent/memory/entries.ts'
import { isSystemDirectory } from '../../../agent/sandbox/hidden-paths.ts'
import type { ProcessEnvironment } from '../../../config/environment.ts'
import { messageOf, systemCode } from '../../../lib/errors.ts'
import { asArray, asRecord, asString, type JsonObject } from '../../../lib/json.ts'
import type { FoundFile, FoundFolder, ImportArea, ImportEntry } from '../contract.ts'
import { findFile, findFolders } from '../folders.ts'
import { failed, openSourceHome, type SourceHome } from '../source-home.ts'
import type { Collector } from './collector.ts'

export interface Workspace {
  readonly files: readonly FoundFile[]
  readonly folders: readonly FoundFolder[]
}

/** The limits of the configuration by default. */
const memoryLimits = { 'MEMORY.md': 2_200, 'USER.md': 1_375 } as const

const skillSearch = { area: 'skills', to: 'skills/openclaw', marks: ['SKILL.md'], depth: 3 } as const

export function readWorkspace(
  source: SourceHome,
  config: JsonObject,
  environment: ProcessEnvironment,
  collector: Collector,
): Workspace {
  const { entries } = collector
  const workspace = openWorkspace(source, config, environment, collector)
  const shared = findFolders(source, { ...skillSearch, from: 'skills' }, entries)
  if (workspace === undefined) return { files: [], folders: shared }
  const skillFolders = findFolders(workspace, { ...skillSearch, from: 'skills' }, entries)
  const targets = new Set(skillFolders.map(({ target }) => target))
  const internal = asRecord(asRecord(asRecord(config['hooks'])['internal'])['entries'])
  const runsBoot = asRecord(internal['boot-md'])['enabled'] === true
  const files = [
    ...persona(workspace, config, entries),
    ...(runsBoot ? findFile(workspace, 'persona', 'BOOT.md', entries) : []),
    ...memory(workspace, 'MEMORY.md', entries),
    ...memory(workspace, 'USER.md', entries),
    // AGENTS.md tells the agent to read the others.
    ...['AGENTS.md', 'TOOLS.md', 'MEMORY.md', 'USER.md', 'IDENTITY.md'].flatMap((name) =>
      copied(workspace, 'files', name, entries),
    ),
    ...workspace
      .names('memory')
      .filter((name) => name.endsWith('.md'))
      .flatMap((name) => copied(workspace, 'memory', `memory/${name}`, entries)),
  ]
  for (const name of ['HEARTBEAT.md', ...(runsBoot ? [] : ['BOOT.md'])])
    if (workspace.kindOf(name) === 'file')
      entries.push({
        area: 'files',
        name,
        result: 'left',
        reason: name === 'BOOT.md' ? 'its hook was not enabled' : 'there is no heartbeat here',
      })
  // The skills of the workspace take precedence there.
  return { files, folders: [...skillFolders, ...shared.filter(({ target }) => !targets.has(target))] }
}

function openWorkspace(
  source: SourceHome,
  config: JsonObject,
  environment: ProcessEnvironment,
  collector: Collector,
): SourceHome | undefined {
  const agents = asRecord(config['agents'])
  const list = asArray(agents['list']).map(asRecord)
  const main = list.find((agent) => agent['default'] === true) ?? list[0]
  const configured = asString(
    main?.['workspace'] ?? asRecord(agents['defaults'])['workspace'] ?? asRecord(config['agent'])['workspace'],
  )
  const user = environment['HOME'] || homedir()
  const path = configured === '' ? source.pathOf('workspace') : resolve(user, configured.replace(/^~(?=\/|$)/, '.'))
  try {
    const workspace = openSourceHome(path)
    const below = relative(source.root, workspace.root)
    const isOutside = below.startsWith('..') || isAbsolute(below)
    if (isSystemDirectory(workspace.root)) {
      collector.leave(
        'agents.defaults.workspace',
        'commands may write to their folder, and this one is of the system',
        'files',
      )
      return undefined
    }
    if (isOutside) collector.set(['terminal', 'cwd'], workspace.root, 'agents.defaults.workspace')
    return workspace
  } catch (error) {
    // A copy of a home has the workspace beside the configuration.
    const isHere = configured !== '' && source.kindOf('workspace') === 'folder'
    if (isHere) return openSourceHome(source.pathOf('workspace'))
    if (systemCode(error) === 'ENOENT')
      collector.leave('agents.defaults.workspace', 'the folder does not exist', 'files')
    else collector.entries.push(failed('files', 'workspace', messageOf(error)))
    return undefined
  }
}

function copied(workspace: SourceHome, area: ImportArea, name: string, entries: ImportEntry[]): FoundFile[] {
  return findFile(workspace, area, name, entries, { target: `workspace/${name}`, change: `is workspace/${name}` })
}

/** SOUL.md, with IDENTITY.md, or with the name of the oldest versions. */
function persona(workspace: SourceHome, config: JsonObject, entries: ImportEntry[]): FoundFile[] {
  const [soul] = findFile(workspace, 'persona', 'SOUL.md', entries)
  const [identity] = findFile(workspace, 'persona', 'IDENTITY.md', entries)
  const { name, theme } = asRecord(config['identity'])
  const former = [
    ...(asString(name) === '' ? [] : [`Your name is ${asString(name)}.`]),
    ...(asString(theme) === '' ? [] : [`You are ${asString(theme)}.`]),
  ].join(' ')
  const added = identity === undefined ? former : String(identity.content)
  const parts = [soul === undefined ? '' : String(soul.content), added].map((text) => text.trim())
  const content = parts.filter((text) => text !== '').join('\n\n')
  if (content === '') return []
  const change = added === '' ? '' : identity === undefined ? 'with the name of `identity`' : 'with IDENTITY.md'
  return [{ area: 'persona', name: 'SOUL.md', content: `${content}\n`, target: 'SOUL.md', change }]
}

/** Paragraphs and items become entries, as many as fit. */
function memory(workspace: SourceHome, name: keyof typeof memoryLimits, entries: ImportEntry[]): FoundFile[] {
  const [file] = findFile(workspace, 'memory', name, entries)
  if (file === undefined) return []
  const all = toEntries(String(file.content))
  const lines: string[] = []
  for (const entry of all) if (countChars(formatEntries([...lines, entry])) <= memoryLimits[name]) lines.push(entry)
  if (lines.length === 0) return []
  const omitted = all.length - lines.length
  const change = omitted === 0 ? 'as entries' : `as entries; ${omitted} that did not fit are only in workspace/${name}`
  return [{ area: 'memory', name, content: formatEntries(lines), target: `memories/${name}`, change }]
}

/** The text below a heading keeps the heading. Comments, rules and fields of a form that is not filled in are left out. */
export function toEntries(markdown: string): string[] {
  const texts: string[] = []
  let heading = ''
  let paragraph: string[] = []
  const end = () => {
    const text = paragraph.join(' ').trim()
    if (text !== '') texts.push(heading === '' ? text : `${heading}: ${text}`)
    paragraph = []
  }
  const text = markdown.replace(/^---\r?\n[\s\S]*?\r?\n---(?=\r?\n|$)/, '').replaceAll(/<!--[\s\S]*?-->/g, '')
  for (const line of text.split(/\r?\n/).map((part) => part.trim())) {
    const title = /^#+\s+(?<title>.+)$/.exec(line)?.groups?.['title']
    const item = /^(?:[-*+]|\d+[.)])\s+(?<item>.+)$/.exec(line)?.groups?.['item']
    if (title !== undefined || line === '' || /^(?:[-*_]\s*){3,}$/.test(line)) end()
    if (title !== undefined) heading = /\b(?:MEMORY|USER)\.md\b|^(?:memory|user)$/i.test(title) ? '' : title
    else if (item !== undefined) {
      end()
      if (!/:\*{0,2}\s*$/.test(item)) paragraph = [item]
    } else if (line !== '' && !/^(?:[-*_]\s*){3,}$/.test(line) && line !== '§') paragraph.push(line)
  }
  end()
  return withoutDuplicates(texts)
}
