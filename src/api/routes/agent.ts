/**
 * What the agent knows and may use: its memory, its skills, its tools, its MCP servers and where its commands run.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { defineRoutes } from '../route.ts'
import {
  changedSkillResponse,
  environmentResponse,
  installBody,
  mcpResponse,
  memoryBody,
  memoryResponse,
  scannedResponse,
  skillBody,
  skillResponse,
  skillsResponse,
  sourceBody,
  toolsetsResponse,
} from '../shapes/agent.ts'

const load = () => import('../handlers/agent.ts')
const route = defineRoutes('Agent')

export const showMemory = route('GET', '/api/memory', {
  summary: 'The notes of the agent and the profile of the owner.',
  response: memoryResponse,
  handle: async (services) => (await load()).describeMemory(services),
})

export const changeMemory = route('POST', '/api/memory', {
  summary: 'Adds, replaces and removes entries of the memory; all of them or none.',
  body: memoryBody,
  response: memoryResponse,
  async handle(services, { body, signal }) {
    const { changeMemory: change, describeMemory } = await load()
    await change(services, body, signal)
    return describeMemory(services)
  },
})

export const listSkills = route('GET', '/api/skills', {
  summary: 'Lists the skills, and those that are left out with the reason.',
  response: skillsResponse,
  async handle({ agent, redact }) {
    const { skills, problems } = await (await agent.skills()).list()
    return {
      skills: skills.map(({ name, description, category, origin, version }) => ({
        ...{ name, category, origin, version },
        description: redact(description),
      })),
      problems: problems.map(({ path, code, message }) => ({ path, code, message: redact(message) })),
    }
  },
})

export const showSkill = route('GET', '/api/skills/{name}', {
  summary: 'A skill with its instructions.',
  response: skillResponse,
  handle: async (services, { params: { name } }) => (await load()).describeSkill(services, name),
})

export const changeSkill = route('POST', '/api/skills', {
  summary: 'Creates, changes or deletes a skill of the home.',
  body: skillBody,
  response: changedSkillResponse,
  async handle({ agent }, { body }) {
    const result = await (await agent.skills()).change(body)
    if (!result.ok) throw new HermesError('http/bad-request', result.reason)
    return { path: result.path, warnings: result.warnings }
  },
})

export const scanSkills = route('POST', '/api/skills/scan', {
  summary: 'Reads, checks and scans the skills of a folder or an archive, and installs nothing.',
  body: sourceBody,
  response: scannedResponse,
  handle: async (_services, { body: { source } }) => (await load()).scanSkills(source),
})

export const installSkills = route('POST', '/api/skills/install', {
  summary: 'Installs the skills of a folder or an archive.',
  body: installBody,
  response: scannedResponse,
  handle: async (services, { body }) => (await load()).installSkillsFrom(services, body),
})

export const listToolsets = route('GET', '/api/toolsets', {
  summary: 'The toolsets that new conversations of a platform are offered.',
  query: z.strictObject({ platform: z.string().min(1).max(64).default('web') }),
  response: toolsetsResponse,
  handle: async (services, { query: { platform } }) => (await load()).describeToolsets(services, platform),
})

export const listMcpServers = route('GET', '/api/mcp', {
  summary: 'The MCP servers with their state and their tools; none is started.',
  response: mcpResponse,
  handle: async (services) => (await load()).describeServers(services),
})

export const reloadMcpServers = route('POST', '/api/mcp/reload', {
  summary: 'Stops all MCP servers and asks each one for its tools again.',
  response: mcpResponse,
  async handle(services, { signal }) {
    await services.agent.mcp.reload(signal)
    return (await load()).describeServers(services)
  },
})

export const showEnvironment = route('GET', '/api/environment', {
  summary: 'Where commands of the agent run, and in which sandbox.',
  response: environmentResponse,
  async handle({ agent: { environments, settings }, redact }) {
    const { terminal } = settings()
    const sandbox =
      terminal.backend === 'local' || terminal.backend === 'bwrap' ? await environments.sandbox() : undefined
    return {
      backend: terminal.backend,
      cwd: environments.cwd(),
      sandbox: sandbox?.kind ?? 'none',
      reason: sandbox === undefined ? noSandbox(terminal) : redact(sandbox.reason),
    }
  },
})

function noSandbox({ backend, sandbox }: { readonly backend: string; readonly sandbox: unknown }): string {
  if (backend === 'none') return 'terminal.backend is none: the agent has no terminal and no file tools.'
  if (backend !== 'local') return `Commands run in ${backend}, not on this machine.`
  return sandbox === 'off' ? 'terminal.sandbox is off: only owners may run commands and write files.' : 'None is open.'
}
