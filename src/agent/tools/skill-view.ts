/**
 * Reads a skill (contract S2): its instructions with the list of its files (level 1), or one of these files (level 2).
 */
import { z } from 'zod'
import type { SkillsPort } from '../skills/skills.ts'
import { toErrorJson, toResultJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const parameters = z.object({ name: z.string().min(1).max(200), file_path: z.string().min(1).max(500).optional() })

export const createSkillViewTool = ({ skills: load }: SkillsPort) =>
  defineToolCode({
    name: 'skill_view',
    description: 'Read a skill',
    parameters: parameters,
    jsonSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, file_path: { type: 'string' } },
      required: ['name'],
    },
    mode: 'pure',
    check: () => load !== undefined,
    label: ({ name, file_path: path }) => (path === undefined ? name : `${name} ${path}`),

    async run({ name, file_path: path }, { sessionId, limits }) {
      const skills = await load?.()
      const skill = await skills?.find(name)
      if (skills === undefined || skill === undefined)
        return toErrorJson({ code: 'not_found', reason: `There is no skill ${name}; skills_list shows them.` })
      const { fitsSystem } = await import('../skills/index-layer.ts')
      if (!fitsSystem(skill.conditions, process.platform)) {
        const reason = `${skill.name} is for ${skill.conditions.platforms.join(', ')}, not for this system.`
        return toErrorJson({ code: 'wrong_system', reason })
      }
      const { readInstructions, readLinkedFile, listLinkedFiles } = await import('../skills/view-skill.ts')
      if (path !== undefined && path !== 'SKILL.md') {
        const file = await readLinkedFile(skill, path)
        if (!file.ok) return toErrorJson(file)
        return toResultJson({ name: skill.name, file: path, content: file.text }, limits.maxResultChars, 'content')
      }
      const instructions = await readInstructions(skill)
      if (!instructions.ok) return toErrorJson(instructions)
      skills.variables.loaded(sessionId, skill)
      const missing = skills.variables.missing(skill)
      const config = skills.settingsOf(skill)
      const result = {
        name: skill.name,
        directory: skill.directory,
        content: instructions.text,
        linked_files: await listLinkedFiles(skill.directory),
        ...(Object.keys(config).length === 0 ? {} : { config }),
        ...(missing.length === 0 ? {} : { missing_variables: missing }),
      }
      return toResultJson(result, limits.maxResultChars, 'content')
    },
  })
