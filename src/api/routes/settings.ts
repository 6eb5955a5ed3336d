/**
 * `/api/settings`: the form of config.yaml and `.env`. Values of secrets go in and never out.
 */
import { defineRoutes } from '../route.ts'
import * as shapes from '../shapes/settings.ts'

const loadEditor = () => import('../../flows/settings/edit-settings.ts')
const route = defineRoutes('Settings')

export const showSettings = route('GET', '/api/settings', {
  summary: 'The values of config.yaml with their origin, and which variables are set.',
  response: shapes.settingsResponse,
  async handle({ config, redact }) {
    const { describeSettings } = await import('../../flows/settings/describe-settings.ts')
    return describeSettings(config, redact)
  },
})

export const showSettingsSchema = route('GET', '/api/settings/schema', {
  summary: 'The JSON Schema of config.yaml, installed platforms included.',
  response: shapes.schemaResponse,
  async handle({ config }) {
    const { configJsonSchema } = await import('../../config/json-schema.ts')
    return Response.json(configJsonSchema(config.rules().shapes))
  },
})

export const previewSettings = route('POST', '/api/settings/preview', {
  summary: 'What a change of config.yaml would do; nothing is stored.',
  body: shapes.previewBody,
  response: shapes.previewResponse,
  handle: async ({ config, redact }, { body }) => (await loadEditor()).planChange(config, redact, body.changes),
})

export const saveSettings = route('POST', '/api/settings', {
  summary: 'Changes config.yaml, keeps its comments, and applies it.',
  body: shapes.saveBody,
  response: shapes.savedResponse,
  async handle({ config, redact, lifecycle }, { body }) {
    const { diff: _, problems: __, ...saved } = (await loadEditor()).saveChange(config, redact, body)
    lifecycle.reloadConfig()
    return saved
  },
})

export const saveSettingsVariable = route('POST', '/api/settings/variables', {
  summary: 'Sets or removes a variable of `.env`.',
  body: shapes.variableBody,
  response: shapes.variableResponse,
  async handle({ config, lifecycle }, { body: { name, value } }) {
    const isEffective = (await loadEditor()).saveVariable(config, name, value)
    lifecycle.reloadConfig()
    return { is_effective: isEffective }
  },
})
