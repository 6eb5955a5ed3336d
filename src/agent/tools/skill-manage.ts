/**
 * Lets the agent write skills into the home (contract S2). A guest never; for others `approvalFor` says when an owner is asked.
 */
import { z } from 'zod'
import type { SkillsPort } from '../skills/skills.ts'
import { toErrorJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const text = z.string().max(1_048_576).optional()
const parameters = z.object({
  action: z.enum(['create', 'patch', 'edit', 'delete', 'write_file', 'remove_file']),
  name: z.string().min(1).max(200),
  content: text,
  category: text,
  old_string: text,
  new_string: text,
  file_path: text,
  file_content: text,
})

const string = { type: 'string' }

export const createSkillManageTool = ({ skills: load }: SkillsPort) =>
  defineToolCode({
    name: 'skill_manage',
    description: 'Write skills. content: SKILL.md',
    parameters,
    jsonSchema: {
      type: 'object',
      properties: {
        action: { type: 'string', enum: parameters.shape.action.options },
        name: string,
        content: string,
        category: string,
        old_string: string,
        new_string: string,
        file_path: string,
        file_content: string,
      },
      required: ['action', 'name'],
    },
    mode: 'effect',
    check: () => load !== undefined,
    label: ({ action, name }) => `${action} ${name}`,

    async approval(change, { turn: { authority } }) {
      // `run` refuses a guest.
      const reason = authority.role === 'guest' ? '' : await (await load?.())?.approvalFor(change, authority.role)
      if (reason === undefined || reason === '') return undefined
      return { source: 'policy', ruleKey: 'skill-write', reason, place: '', remember: 'call', ownerOnly: true }
    },

    async run(change, { turn: { authority }, isApproved }) {
      const skills = await load?.()
      if (skills === undefined || authority.role === 'guest')
        return toErrorJson({ code: 'not_permitted', reason: 'Nothing was changed: guests may not change skills.' })
      // Another text on disk than the one for which no one had to be asked.
      if (isApproved !== true && (await skills.approvalFor(change, authority.role)) !== '')
        return toErrorJson({ code: 'not_approved', reason: 'Nothing was changed: an owner must allow it first.' })
      const result = await skills.change(change)
      if (!result.ok) return toErrorJson(result)
      const warnings = result.warnings.length === 0 ? {} : { warnings: result.warnings }
      return JSON.stringify({ success: true, path: result.path, ...warnings, note: 'New conversations list it.' })
    },
  })
