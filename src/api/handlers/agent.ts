/**
 * What the routes of the agent read and change.
 */
import { join } from 'node:path'
import type { z } from 'zod'
import { inspectMemory } from '../../agent/memory/inspect-memory.ts'
import { archiveFileName, createMemoryStore } from '../../agent/memory/memory-store.ts'
import { checkSource, InstallError, installSkills } from '../../agent/skills/install-skill.ts'
import { listLinkedFiles, readInstructions } from '../../agent/skills/view-skill.ts'
import { listServers } from '../../flows/mcp/list-servers.ts'
import { listToolsets } from '../../flows/tools/list-toolsets.ts'
import { HermesError } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { asRecord, asString, parseJson } from '../../lib/json.ts'
import type { ApiServices } from '../services.ts'
import type { installBody, memoryBody } from '../shapes/agent.ts'

const maxArchived = 100

export function describeMemory({ home, agent, redact }: ApiServices) {
  const { memory } = agent.settings()
  const archive = readTextIfExists(join(home.memories, archiveFileName)) ?? ''
  const archived = archive
    .trimEnd()
    .split('\n')
    .slice(-maxArchived)
    .reverse()
    .map((line) => asRecord(parseJson(line)))
  return {
    files: (['memory', 'user'] as const).map((target) => {
      const { path, enabled, entries, usage, state, problem } = inspectMemory(home.memories, memory, target)
      return {
        target,
        path,
        enabled,
        entries: entries.map((entry) => redact(entry)),
        usage,
        state,
        problem: redact(problem),
      }
    }),
    archived: archived.flatMap(({ archived_at, target, content }) =>
      typeof content === 'string'
        ? [{ archived_at: asString(archived_at), target: asString(target), content: redact(content) }]
        : [],
    ),
  }
}

/** Rejects `http/bad-request` with what the memory says against it. */
export async function changeMemory(
  { home, agent: { settings }, redact, clock, log }: ApiServices,
  request: z.output<typeof memoryBody>,
  signal: AbortSignal,
): Promise<void> {
  const store = createMemoryStore({
    ...{ directory: home.memories, settings, redact, clock, log },
    holdsSecret: (text) => redact(text) !== text,
    onScanned: () => undefined,
    onRead: () => undefined,
  })
  const result = await store.write(request, signal)
  if (!result.ok) throw new HermesError('http/bad-request', result.failure.reason)
}

/** Rejects `http/not-found`. */
export async function describeSkill({ agent, redact }: ApiServices, name: string) {
  const skills = await agent.skills()
  const skill = await skills.find(name)
  if (skill === undefined) throw new HermesError('http/not-found', `There is no skill ${JSON.stringify(name)}.`)
  const instructions = await readInstructions(skill)
  const { description, category, origin, version, directory } = skill
  return {
    ...{ name: skill.name, category, origin, version },
    description: redact(description),
    text: instructions.ok ? redact(instructions.text) : '',
    files: Object.values(await listLinkedFiles(directory)).flat(),
    problem: instructions.ok ? '' : redact(instructions.reason),
    missing: [...skills.variables.missing(skill)],
  }
}

/** Rejects `http/bad-request` with what the scan found. */
export async function scanSkills(source: string) {
  const skills = await explained(() => checkSource(source))
  return {
    skills: skills.map(({ name, files, warnings, variables }) => ({
      ...{ name, warnings, variables },
      files: files.map(({ path }) => path),
    })),
  }
}

/** Rejects as `scanSkills`; nothing is installed then. */
export async function installSkillsFrom({ agent, home }: ApiServices, options: z.output<typeof installBody>) {
  const skills = await agent.skills()
  const installed = await explained(() =>
    installSkills({
      ...options,
      root: home.skills,
      async find(name) {
        const skill = await skills.find(name)
        return skill?.origin === 'home' ? skill : undefined
      },
    }),
  )
  return { skills: installed.map(({ name, warnings, variables }) => ({ name, warnings, variables, files: [] })) }
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof InstallError) throw new HermesError('http/bad-request', error.message, { cause: error })
    throw error
  }
}

/** What is selected and yet not in the prompt lacks something. Rejects `http/not-found` for a platform that does not exist. */
export async function describeToolsets({ agent, platformSettings: settings }: ApiServices, platform: string) {
  const [tools, prompt] = await Promise.all([agent.knownTools(), agent.previewPrompt(platform)])
  const offered = new Set(prompt.tools.map(({ name }) => name))
  const missing = tools.filter(({ name }) => !offered.has(name))
  const unavailable = new Map(missing.map(({ name }) => [name, 'what it needs is missing here']))
  return {
    platforms: settings.catalogue.platforms.map(({ name }) => name).sort(),
    toolsets: [...listToolsets({ tools, settings, unavailable }, platform)],
  }
}

export function describeServers({ home, agent, config, lifecycle, redact }: ApiServices) {
  const searchPath = config.environment().values['PATH']
  return {
    servers: [...listServers(home, agent.settings(), { searchPath, degraded: lifecycle.status().degraded, redact })],
  }
}
