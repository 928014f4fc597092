// What the authors of the suite expect today otherwise than in the newest package of it, which is older than RFC 9111: as their repository
// (http-tests/cache-tests) has it at commit bb49f1d, told in words of this project. By test, what becomes of it.
const last = test => test.requests.at(-1)
const reused = test => { last(test).expected_type = 'cached' }
const askedAnew = test => { last(test).expected_type = 'not_cached' }

// What the cache says instead is nothing that the origin said.
function notServed (test) {
  delete last(test).expected_type
  Object.assign(last(test), {
    expected_status: 503,
    check_body: false,
    expected_response_headers_missing: ['server-request-count']
  })
}

// The date lacked a comma.
function wellWritten (test) {
  const [expires] = test.requests[0].response_headers
  expires[1] = expires[1].replace(/^(\w{3}) /, '$1, ')
}

// A 304 replaces what it brings.
function updated (test) {
  const [, second, third] = test.requests
  const name = second.expected_response_headers[0][0]
  const value = second.response_headers.find(([n]) => n === name)[1]
  third.response_headers.find(([n]) => n === name)[1] = value
  for (const request of [second, third]) request.expected_response_headers = [[name, value]]
}

// The tag of another variant goes out as a condition, and the answer to it is a whole one.
function offered (test) {
  const [first, second] = test.requests
  first.response_headers.find(([n]) => n === 'Expires')[1] = 10000
  delete second.expected_type
  second.expected_request_headers = [['If-None-Match', '"abcdef"']]
}

const all = (correct, ids) => ids.map(id => [id, correct])
const ages = ['nonnumeric', 'negative', 'float', 'prefix-twoline', 'dup-0', 'dup-0-twoline', 'dup-old']
const dates = [
  'utc', 'aest', '2-digit-year', 'no-comma', 'multiple-spaces', 'date-dashes', 'time-periods', '1-digit-hour', 'multiple-lines'
]
export default new Map([
  ...all(reused, ages.map(age => `age-parse-${age}`)),
  ...all(notServed, ['must-revalidate', 'proxy-revalidate', 'no-cache', 's-maxage=2'].map(word => `stale-close-${word}`)),
  ...all(askedAnew, dates.map(date => `freshness-expires-invalid-${date}`)),
  ...all(wellWritten, ['freshness-expires-32bit', 'freshness-expires-far-future']),
  ...all(updated, ['Content-Encoding', 'Content-MD5', 'Content-Range', 'ETag'].map(name => `304-etag-update-response-${name}`)),
  ...all(offered, ['conditional-etag-vary-headers-mismatch'])
])
