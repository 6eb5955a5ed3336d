/**
 * The system prompt of a conversation is the same bytes in all its turns, whatever changes on disk: a vendor caches what two
 * requests have in common.
 */
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { HomeLayout } from '../../src/lib/home.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, waitForCommandReply } from './support.ts'

const turns = 20

/** What a person or another conversation changes between two turns. */
function changeEverything(home: HomeLayout, turn: number): void {
  mkdirSync(home.memories, { recursive: true, mode: 0o700 })
  appendFileSync(join(home.memories, 'MEMORY.md'), `\n§\nnote ${turn}`)
  writeFileSync(join(home.memories, 'USER.md'), `profile ${turn}`)
  writeFileSync(home.soulFile, `You are number ${turn}.`)
  const skill = join(home.root, 'skills', `skill-${turn}`)
  mkdirSync(skill, { recursive: true })
  writeFileSync(join(skill, 'SKILL.md'), `---\nname: skill-${turn}\ndescription: procedure ${turn}\n---\nDo it.\n`)
  // The working directory of the test.
  writeFileSync(join(home.root, 'AGENTS.md'), `convention ${turn}`)
}

test(`the prompt and the tools stay the same over ${turns} turns while memory, skills, persona, project and configuration change on disk`, async (t) => {
  const config = { roles: { owners: ['fake:user'] } }
  const gateway = await startTestGateway(t, {
    config,
    model: ({ lastUserText }) => ({ text: `answer to ${lastUserText}` }),
  })
  changeEverything(gateway.home, 0)
  for (let turn = 1; turn <= turns; turn++) {
    await gateway.say(`message ${turn}.`)
    await gateway.waitForReply(`answer to message ${turn}.`)
    changeEverything(gateway.home, turn)
    if (turn % 7 !== 0) continue
    gateway.configure({ ...config, timezone: turn === 7 ? 'Asia/Tokyo' : 'UTC', toolsets: ['skills'] })
    gateway.current().config.reload()
  }
  const beginnings = gateway.model.requests.map(({ body }) => JSON.stringify([at(body, 'messages', 0), body['tools']]))
  assert.equal(beginnings.length, turns)
  assert.equal(new Set(beginnings).size, 1)
  assert.match(beginnings[0] ?? '', /note 0.*profile 0.*procedure 0.*convention 0/)
  assert.doesNotMatch(beginnings[0] ?? '', /skill-1/)
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  await gateway.say('later')
  await gateway.waitForReply('answer to later')
  const { body } = await gateway.modelRequest(turns)
  assert.match(
    JSON.stringify(body),
    new RegExp(`note ${turns}.*profile ${turns}.*procedure ${turns}.*convention ${turns}`),
  )
  assert.equal(at(body, 'tools', 0, 'function', 'name'), 'skill_manage')
})
