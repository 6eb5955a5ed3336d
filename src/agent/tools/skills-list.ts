/**
 * Lists the skills of a session with their whole descriptions (contract S2, level 0).
 */
import { z } from 'zod'
import type { SkillsPort } from '../skills/skills.ts'
import { toResultJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const parameters = z.object({ category: z.string().optional() })

export const createSkillsListTool = ({ skills: load }: SkillsPort) =>
  defineToolCode({
    name: 'skills_list',
    description: 'List skills',
    parameters,
    jsonSchema: { type: 'object', properties: {} },
    acceptsUndescribed: true,
    mode: 'pure',
    check: () => load !== undefined,
    label: ({ category = '' }) => category,

    async run({ category }, { limits }) {
      const [{ fitsSystem }, { toPathName }] = await Promise.all([
        import('../skills/index-layer.ts'),
        import('../skills/skill.ts'),
      ])
      const { skills = [] } = (await (await load?.())?.list()) ?? {}
      const usable = skills.filter(({ conditions }) => fitsSystem(conditions, process.platform))
      const listed = category === undefined ? usable : usable.filter((skill) => skill.category === category)
      const categories = [...new Set(usable.map((skill) => skill.category))].filter((name) => name !== '')
      const entries = listed.map(({ name, description, category: categoryName }) => ({
        name,
        description,
        category: categoryName,
      }))
      const result = { skills: entries, categories, hint: 'skill_view reads one' }
      if (JSON.stringify(result).length <= limits.maxResultChars) return JSON.stringify(result)
      const names = listed.map(toPathName).join(', ')
      return toResultJson({ skills: names, categories, hint: 'name a category' }, limits.maxResultChars, 'skills')
    },
  })
