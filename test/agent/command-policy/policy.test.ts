import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCommandPolicy } from '../../../src/agent/command-policy/policy.ts'
import { allowed, forbidden, needsApproval } from './commands.ts'

const policy = createCommandPolicy({ home: '/home/me/.hermes', userHome: '/home/me' })
const cwd = '/home/me/project'
const judge = (command: string) => policy.evaluate(command, { cwd })

for (const [rule, commands] of Object.entries(forbidden)) {
  for (const command of commands) {
    test(`never runs (${rule}): ${JSON.stringify(command)}`, () => {
      const verdict = judge(command)
      assert.equal(verdict.decision, 'forbidden', JSON.stringify(verdict))
      assert.equal(verdict.decision === 'forbidden' && verdict.rule, rule)
    })
  }
}

for (const [rule, commands] of Object.entries(needsApproval)) {
  for (const command of commands) {
    test(`needs a person (${rule}): ${JSON.stringify(command)}`, () => {
      const verdict = judge(command)
      assert.equal(verdict.decision, 'needs-approval', JSON.stringify(verdict))
      assert.equal(verdict.decision === 'needs-approval' && verdict.rule, rule)
    })
  }
}

for (const command of allowed) {
  test(`runs freely: ${JSON.stringify(command)}`, () => {
    assert.deepEqual(judge(command), { decision: 'allow' })
  })
}

test('where a command starts decides what its relative paths mean', () => {
  assert.equal(policy.evaluate('rm -rf *', { cwd: '/' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf .', { cwd: '/home/me' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf ../..', { cwd: '/home/me/project' }).decision, 'forbidden')
  assert.equal(policy.evaluate('rm -rf *', { cwd: '/home/me/project' }).decision, 'needs-approval')
  assert.equal(policy.evaluate('cat .env', { cwd: '/home/me/.hermes' }).decision, 'needs-approval')
  assert.equal(policy.evaluate('cat .env', { cwd: '/home/me/project' }).decision, 'allow')
})

test('a shell that somebody may type into needs a person', () => {
  assert.equal(policy.evaluate('bash', { interactive: true }).decision, 'needs-approval')
  assert.equal(policy.evaluate('python3 -i', { interactive: true }).decision, 'needs-approval')
  assert.equal(policy.evaluate('bash').decision, 'allow')
  assert.equal(policy.evaluate('npm run dev', { interactive: true }).decision, 'allow')
})

test("the user's own list of denied commands is compared without regard to case, on every command of a line", () => {
  const strict = createCommandPolicy({
    home: '/home/me/.hermes',
    userHome: '/home/me',
    deny: ['git push --force*', 'terraform destroy', '/opt/tools/deploy *'],
  })
  for (const command of [
    'git push --force origin main',
    'GIT PUSH --FORCE',
    'cd repo && git  push   --force',
    'sudo -u bot git push --force-with-lease',
    "g''it push '--force'",
    'echo $(terraform destroy)',
    '/usr/local/bin/terraform destroy',
    '/opt/tools/deploy now',
  ]) {
    const verdict = strict.evaluate(command)
    assert.deepEqual([verdict.decision, 'rule' in verdict && verdict.rule], ['forbidden', 'denied'], command)
  }
  assert.equal(strict.evaluate('git push').decision, 'allow')
  assert.equal(strict.evaluate('echo "git push --force"').decision, 'allow')
  assert.equal(strict.evaluate('terraform plan').decision, 'allow')
})

test('the floor is named before the list of denied commands', () => {
  const strict = createCommandPolicy({ home: '/h', userHome: '/u', deny: ['*'] })
  const verdict = strict.evaluate('rm -rf /')
  assert.equal('rule' in verdict && verdict.rule, 'remove-vital')
  assert.equal(strict.evaluate('ls').decision, 'forbidden')
})

test('a reason completes a sentence and the rule is a short stable name', () => {
  const verdict = judge('rm -r build')
  assert.ok('reason' in verdict)
  assert.match(verdict.rule, /^[a-z-]+$/)
  assert.match(verdict.reason, /^[a-z].*[^.]$/)
})

test('no text makes it throw, and the floor holds whatever stands around it', () => {
  const noise = fc.string({ unit: fc.constantFrom(...'abc $`\'"(){}[]<>|&;\\\n*?~#!=/-'), maxLength: 40 })
  fc.assert(
    fc.property(noise, (text) => {
      judge(text)
    }),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z ]{0,20}$/), (words) => {
      assert.equal(judge(`echo ${words}; rm -rf /; echo ${words}`).decision, 'forbidden')
    }),
    { numRuns: 100 },
  )
})

test('quoting never changes the verdict on a floor command', () => {
  const quoted = (word: string) =>
    fc.array(fc.nat({ max: 3 }), { minLength: word.length, maxLength: word.length }).map((ways) =>
      [...word]
        .map((character, index) => {
          const hex = `$'\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}'`
          return [character, `'${character}'`, `"${character}"`, hex][ways[index] ?? 0]
        })
        .join(''),
    )
  fc.assert(
    fc.property(quoted('rm'), quoted('-rf'), quoted('/etc'), (name, option, target) => {
      assert.equal(judge(`${name} ${option} ${target}`).decision, 'forbidden')
    }),
  )
})

test('a command made to be hard to judge needs a person, and the floor still holds in it', () => {
  const variables = Array.from({ length: 30 }, (_, index) => `v${index + 1}=$v${index}$v${index}`).join('; ')
  assert.equal(judge(`v0=x; ${variables}; rm $v30`).decision, 'needs-approval')
  assert.equal(judge(`rm ${'x '.repeat(30_000)}`).decision, 'needs-approval')
  assert.equal(judge('x'.repeat(300_000)).decision, 'needs-approval')
  assert.equal(judge(`${'sudo '.repeat(2_000)}ls`).decision, 'needs-approval')
  assert.equal(judge(`echo ${'{a,b}'.repeat(60)}; rm -rf /`).decision, 'forbidden')
  assert.equal(judge(`${'$('.repeat(100)}rm -rf /${')'.repeat(100)}`).decision, 'forbidden')
})

test('no nesting exhausts it: what is too deep to be read needs a person', () => {
  for (const command of [`${'$('.repeat(5_000)}x${')'.repeat(5_000)}`, '('.repeat(50_000)]) {
    assert.equal(judge(command).decision, 'needs-approval')
  }
})
