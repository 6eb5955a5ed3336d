/**
 * Collects the skills that plugins bring (`registerSkill`). They are not in the index of the prompt: a person or the agent loads them
 * by `<plugin>:<name>`.
 */
import { isAbsolute, resolve } from 'node:path'
import { HermesError } from '../lib/errors.ts'
import type { Registration } from '../middleware/contract.ts'

export interface RegisteredSkill {
  /** `<plugin>:<name>` */
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly description: string
}

export interface PluginSkills {
  /** @param directory the folder of the plugin. Throws `plugins/invalid-registration`. */
  register(
    owner: string,
    directory: string,
    skill: Omit<RegisteredSkill, 'name'> & { readonly name: string },
  ): Registration
  /** In the order of registration. */
  list(): readonly RegisteredSkill[]
}

export function createPluginSkills(): PluginSkills {
  let skills: readonly RegisteredSkill[] = []
  return {
    register(owner, directory, { name, path, description }) {
      // Plugins may be written without types.
      if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name))
        throw invalid(
          `expected a name of small letters, digits, ".", "_" and "-", found ${JSON.stringify(name)} (${owner})`,
        )
      if (typeof path !== 'string' || path === '')
        throw invalid(`the skill ${name} of ${owner} needs the path of its folder`)
      const fullName = `${owner.split('/').at(-1) ?? owner}:${name}`
      if (skills.some((other) => other.name === fullName)) throw invalid(`the skill ${fullName} is registered twice`)
      const skill = {
        name: fullName,
        path: isAbsolute(path) ? path : resolve(directory, path),
        description: typeof description === 'string' ? description : '',
      }
      skills = [...skills, skill]
      return {
        name: fullName,
        remove() {
          const before = skills.length
          skills = skills.filter((registered) => registered !== skill)
          return skills.length < before
        },
      }
    },
    list: () => skills,
  }
}

function invalid(detail: string): HermesError {
  return new HermesError('plugins/invalid-registration', detail)
}
