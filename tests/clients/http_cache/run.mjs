// Runs the public suite of HTTP caches against gateways. Its origin is in this process, on loopback; what the suite asks of a cache goes
// through the gateway of the test's own connection, its own book-keeping straight to the origin.
//
//   node run.mjs SUITE                             the ids of its tests, in the order of their connections
//   node run.mjs SUITE PORT GATEWAY TOKEN [ID...]  runs them: one line of JSON for each
//   node run.mjs SUITE PORT GATEWAY TOKEN corrected  runs those alone that its authors expect otherwise today, as they do
//
// SUITE: the folder of the package. PORT: the origin's. GATEWAY: the address before the connection's name. TOKEN: for methods that write.
import http from 'node:http'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import corrected from './corrected.mjs'

const [suite, port, gateway, token, ...named] = process.argv.slice(2)
const isCorrected = named[0] === 'corrected'
const only = isCorrected ? [...corrected.keys()] : named
const load = file => import(pathToFileURL(path.join(suite, file)).href)
// As the suite's own command line has it.
const { default: sets } = await load('tests/index.mjs')
const { default: surrogate } = await load('tests/surrogate-control.mjs')
sets.push(surrogate)
const tests = sets.flatMap(set => set.tests.map(test => ({ set: set.id, test }))).filter(({ test }) => !test.browser_only)
if (isCorrected) for (const { test } of tests) corrected.get(test.id)?.(test)
const place = new Map(tests.map(({ test }, n) => [test.id, n]))

if (port === undefined) {
  await new Promise(done => process.stdout.write(JSON.stringify(tests.map(({ test }) => test.id)), done))
  process.exit(0)
}

const handlers = {
  config: (await load('server/handle-config.mjs')).default,
  state: (await load('server/handle-state.mjs')).default,
  test: (await load('server/handle-test.mjs')).default
}
console.log = () => {}
// The account's credential is where the client's was: the suite, which knows only that, is told of it.
const ACCOUNT = /^Account /
const origin = http.createServer((request, response) => {
  if (ACCOUNT.test(request.headers.authorization)) request.headers.authorization = 'FOO'
  const [, what, ...rest] = new URL(request.url, 'http://origin').pathname.split('/')
  const handle = handlers[what]
  if (handle) return handle(rest, request, response)
  response.writeHead(404).end()
})
await new Promise(resolve => origin.listen(Number(port), '127.0.0.1', resolve))

const fetch = createRequire(path.join(suite, 'package.json'))('node-fetch')
const reads = new Set([undefined, 'GET', 'HEAD'])
async function asked (url, init = {}) {
  const where = url.replace(/^suite:/, '')
  if (!where.startsWith('/test/')) return fetch(`http://127.0.0.1:${port}${where}`, init)
  const headers = [...init.headers]
  // Tests that are made of one template write into one list of headers: the last is this one's.
  const id = headers.findLast(([name]) => name === 'Test-ID')[1]
  if (!reads.has(init.method)) headers.push(['Authorization', `Bearer ${token}`])
  const home = `${gateway}/t${place.get(id)}`
  const response = await fetch(home + where, { ...init, headers })
  // The gateway names its own address where the provider named its. The suite, which knows only one, is told it as it knows it.
  const location = response.headers.get('location')
  const prefix = new URL(home).pathname
  if (location?.startsWith(prefix)) response.headers.set('location', location.slice(prefix.length))
  return response
}

const { runTests, getResults } = await load('client/runner.mjs')
const wanted = sets.map(set => ({ ...set, tests: set.tests.filter(({ id }) => only.length === 0 || only.includes(id)) }))
// So many at once: more, and what goes by seconds is late.
await runTests(wanted, asked, false, 'suite:', 50)
const results = getResults()
const told = tests.filter(({ test }) => test.id in results).map(({ set, test }) => {
  const result = results[test.id]
  const [why, detail] = result === true ? ['', ''] : result
  const kind = test.kind ?? 'required'
  return JSON.stringify({ id: test.id, set, kind, name: test.name, passed: result === true, why, detail }) + '\n'
})
// Its end waits until all of it is read.
process.stdout.write(told.join(''), () => process.exit(0))
