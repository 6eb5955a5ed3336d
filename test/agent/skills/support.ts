/**
 * Helpers of the tests of skills: a folder with skills, and the skills that a gateway makes of it.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { SkillProblem } from '../../../src/agent/skills/skill.ts'
import { createSkills, type Skills, type SkillsDeps } from '../../../src/agent/skills/skills.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { tempHome } from '../../kit/temp-home.ts'

export interface TestSkills {
  readonly skills: Skills
  /** `<home>/skills` */
  readonly root: string
  readonly bundled: string
  /** What the last look at the files found. */
  problems(): readonly SkillProblem[]
}

export function createTestSkills(t: TestContext, more: Partial<SkillsDeps> = {}): TestSkills {
  const home = tempHome(t)
  const [root, bundled] = [join(home, 'skills'), join(home, 'bundled')]
  let problems: readonly SkillProblem[] = []
  const skills = createSkills({
    root,
    home,
    bundled,
    settings: () => ({ skills: { external_dirs: [], disabled: [], write_approval: false, config: {} } }),
    environment: () => ({}),
    withheld: [],
    credentials: () => [],
    pluginSkills: () => [],
    onListed: (listing) => {
      problems = listing.problems
    },
    log: silentLog,
    failpoint: () => undefined,
    ...more,
  })
  return { skills, root, bundled, problems: () => problems }
}

export function skillText(name: string, fields = `description: About ${name}`, body = 'Do it.'): string {
  return `---\nname: ${name}\n${fields}\n---\n\n${body}\n`
}

/** Writes `<root>/<path>/SKILL.md`. Without a text, a correct one. */
export function writeSkill(root: string, path: string, text?: string | Uint8Array): string {
  const folder = join(root, path)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'SKILL.md'), text ?? skillText(path.split('/').at(-1) ?? ''))
  return folder
}
