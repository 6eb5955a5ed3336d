/**
 * The four tools for Home Assistant (contract S9, Hermes' `ha_*`). It is an example of a family of tools in a plugin
 * as well.
 */

import { z } from 'zod'
import { asArray, asNumber, asString, type Fields, isRecord, type PluginContext, parseJson } from '#sdk'
import { createHomeAssistantClient } from './client.ts'
import { summarizeCall, summarizeEntities, summarizeServices, summarizeState } from './summaries.ts'

/** Their services run code, or send requests from the server of Home Assistant, whose API has no permissions of its own. */
const codeDomains = ['command_line', 'hassio', 'pyscript', 'python_script', 'rest_command', 'shell_command']

const defaultUrl = 'http://homeassistant.local:8123'

// The names become parts of a path.
const serviceName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must have lower-case letters, digits and _')
const entityId = z.string().regex(/^[a-z_][a-z0-9_]*\.[a-z0-9_]+$/, 'must be an entity id such as light.kitchen')

/** Some models write an object as text. */
const serviceData = z.union([z.record(z.string(), z.unknown()), z.string()]).transform((value, context): Fields => {
  if (typeof value !== 'string') return value
  const parsed = value.trim() === '' ? {} : parseObject(value)
  if (parsed !== undefined) return parsed
  context.addIssue({ code: 'custom', message: 'must be an object' })
  return z.NEVER
})

/** Reading changes nothing, but says who is at home: so it is for those who may control devices. Guests may not. */
const mode = 'effect'

/** An editor is for code. */
const leftOutOf = ['hermes-acp']

export function register(ctx: PluginContext): void {
  const client = () =>
    createHomeAssistantClient({
      url: (ctx.env('HASS_URL') || defaultUrl).replace(/\/+$/, ''),
      token: ctx.env('HASS_TOKEN') ?? '',
      timeoutMs: asNumber(ctx.config.get('timeout_seconds')) * 1_000,
    })
  const isBlocked = (domain: string) =>
    codeDomains.includes(domain) || asArray(ctx.config.get('blocked_domains')).map(asString).includes(domain)

  ctx.registerTool({
    name: 'ha_list_entities',
    description:
      'List devices and sensors of the home, by domain (light, climate, sensor) or a part of their name or area.',
    parameters: z.object({ domain: serviceName.optional(), area: z.string().optional() }),
    mode,
    runsInParallel: true,
    leftOutOf,
    run: async (filter, { signal }) => ({
      result: summarizeEntities(await client().get('/api/states', signal), filter),
    }),
  })
  ctx.registerTool({
    name: 'ha_get_state',
    description: 'The state of one device with all attributes.',
    parameters: z.object({ entity_id: entityId }),
    mode,
    runsInParallel: true,
    leftOutOf,
    run: async ({ entity_id: id }, { signal }) => ({
      result: summarizeState(await client().get(`/api/states/${id}`, signal)),
    }),
  })
  ctx.registerTool({
    name: 'ha_list_services',
    description: 'What can be done with devices: the services of a domain, with their fields.',
    parameters: z.object({ domain: serviceName.optional() }),
    mode,
    runsInParallel: true,
    leftOutOf,
    run: async ({ domain }, { signal }) => ({
      result: summarizeServices(await client().get('/api/services', signal), domain),
    }),
  })
  ctx.registerTool({
    name: 'ha_call_service',
    description: 'Control a device: call a service, such as light.turn_on, for an entity.',
    parameters: z.object({
      domain: serviceName,
      service: serviceName,
      entity_id: entityId.optional(),
      data: serviceData.optional(),
    }),
    mode,
    leftOutOf,
    async run({ domain, service, entity_id: id, data = {} }, { signal }) {
      if (isBlocked(domain)) throw new Error(`Services of ${domain} are blocked.`)
      const fields = id === undefined ? data : { ...data, entity_id: id }
      const answer = await client().callService(domain, service, fields, signal)
      return { result: summarizeCall(`${domain}.${service}`, answer) }
    },
  })
}

function parseObject(text: string): Fields | undefined {
  const value = parseJson(text)
  return isRecord(value) ? value : undefined
}
