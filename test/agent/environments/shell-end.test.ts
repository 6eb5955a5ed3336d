import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { initVariable, limitOutput, parseExports, reportingCommand } from '../../../src/agent/environments/shell-end.ts'

const shells = [['bash'], ['dash'], ['busybox', 'sh']] as const

for (const [shell, ...args] of shells) {
  const isMissing = spawnSync(shell, [...args, '-c', 'true']).error !== undefined
  describe(`the end of a command in ${[shell, ...args].join(' ')}`, {
    skip: isMissing && `${shell} is not installed`,
  }, () => {
    const run = (command: string, cwd = '/') => {
      const prepared = reportingCommand(command, cwd, new Map([['KEPT', "it's"]]))
      const env = { PATH: process.env['PATH'] ?? '', PWD: cwd, ...prepared.variables }
      return prepared.read(
        execFileSync(shell, [...args, '-c', prepared.script], {
          cwd,
          env,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        }),
      )
    }

    test('reports the directory without links, and what was exported and removed', () => {
      const { output, end } = run('cd /usr/; export A="1\n$KEPT" B=; unset KEPT; echo done')
      assert.equal(output, 'done\n')
      assert.equal(end?.directory, '/usr')
      assert.deepEqual(Object.fromEntries(end?.exports ?? []), { A: "1\nit's", B: '', KEPT: null })
    })

    test('reports nothing new for a command that changes nothing', () => {
      assert.deepEqual(run('printf no-line-break'), { output: 'no-line-break', end: {} })
    })

    test('values keep quotes, line breaks and signs', () => {
      const value = `a'b"c\\d\n\t$e \u00e9`
      const { end } = run(`export V='${value.replaceAll("'", "'\\''")}'`)
      assert.equal(end?.exports?.get('V'), value)
    })
  })
}

test('no part of an incomplete report stays in the output', () => {
  const { read, variables } = reportingCommand('true', '/', new Map())
  const [mark = ''] = /__hermes_[0-9a-f]{32}/.exec(variables[initVariable] ?? '') ?? []
  assert.deepEqual(read(`text\n${mark}<\n/x\n/x\n${mark}=\nexport KEY='sec`), { output: 'text' })
  assert.deepEqual(read(`ret'\n${mark}>\nlater`), { output: '\nlater' })
  assert.deepEqual(read('plain'), { output: 'plain' })
})

test('text that is no list of variables is not read as one', () => {
  assert.equal(parseExports('export A=1\nrm -rf /'), undefined)
  assert.equal(parseExports("export A='unfinished"), undefined)
  assert.deepEqual(
    Object.fromEntries(parseExports(`declare -x A="\\$\\"x"\ntypeset -x B=$'\\e\\x41\\101'\nexport C`) ?? []),
    {
      A: '$"x',
      B: '\x1bAA',
    },
  )
})

test('an output that had room for a report is cut to its limit', () => {
  assert.equal(limitOutput('short', 10), 'short')
  assert.match(limitOutput(`${'a '.repeat(50)}`, 20), /^a a a a a \n\[\u2026 \d+ bytes left out \u2026\]\n a a a a $/)
})
