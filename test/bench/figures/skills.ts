/**
 * The index of 200 skills in the prompt of a new conversation: its size, and what another look at the files costs.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillCatalog } from '../../../src/agent/skills/catalog.ts'
import { formatSkillIndex } from '../../../src/agent/skills/index-layer.ts'
import { parseYaml } from '../../../src/lib/yaml.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'

const count = 200
/** Bytes: few for a text of words. */
const bytesPerToken = 3

const facts = { toolNames: new Set(['skill_view', 'skill_manage']), toolsets: new Set<string>(), system: 'linux' }

function headOf(index: number): string {
  return `name: skill-number-${index}
description: Does the thing number ${index} with care. Use it when things of that kind come up in a conversation.
version: 1.0.0
metadata:
  hermes:
    tags: [one, two]`
}

async function measureSkills({ full }: BenchOptions): Promise<Row[]> {
  const root = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  try {
    for (let index = 0; index < count; index++) {
      const folder = join(root, `category-${index % 12}`, `skill-number-${index}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'SKILL.md'), `---\n${headOf(index)}\n---\n\nDo it step by step.\n`)
    }
    const catalog = createSkillCatalog(
      () => [{ path: root, origin: 'home' }],
      () => [],
    )
    const build = async () => formatSkillIndex((await catalog.read()).skills, facts)
    const first = await cpuMs(build)
    for (let call = 0; call < 10; call++) await build()
    const calls = full ? 200 : 40
    const again = await cpuMs(async () => {
      for (let call = 0; call < calls; call++) await build()
    })
    const parsing = await cpuMs(async () => {
      for (let index = 0; index < count; index++) parseYaml(headOf(index), 'x')
    })
    const tokens = Math.ceil(Buffer.byteLength(await build()) / bytesPerToken)
    return [
      { name: `index of ${count} skills`, measured: tokens, unit: 'tokens', bar: 3_000, note: 'three bytes each' },
      {
        name: `index of ${count} skills for a new conversation`,
        measured: again / calls,
        unit: 'ms',
        bar: 10,
        baseline: { what: 'parsing all heads again', value: parsing },
        note: `the first one after a start takes ${Math.round(first)} ms`,
      },
    ]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

export const skills: Figure = {
  name: 'skills',
  about: 'index of the skills in the prompt',
  measure: measureSkills,
}
