"""What openstack-heat says of templates: one line of JSON for each.

verdicts.py MUTANTS SEED FILE...   cases are read from files: a template each, or,
in a .txt, many under lines "=== name". Then come mutants of them. With SEED "public" the
files are anybody's templates: all types are the one that takes anything, and
parameters without a default are given a value that their constraints allow.

No database, no cloud and no engine is asked: templates are parsed, bound and
validated by the original's own code, as its validation of a template does, but
with the values of parameters checked too.
"""

import json
import random
import re
import signal
import sys
import warnings

warnings.simplefilter('ignore')

from oslo_config import cfg  # noqa: E402

import heat.common.config  # noqa: E402,F401
from heat.common import context, exception, template_format  # noqa: E402
from heat.engine import api, environment, stack, template  # noqa: E402

cfg.CONF([], project='heat', default_config_files=[])
environment.Environment({})  # Loads all types of resources, which takes its time.

FILES = {'f.txt': 'text', 'f.json': '{"a": 1}'}


def plain(value):
    """The value as JSON has it: a set as a list, bytes as text."""
    def other(v):
        if isinstance(v, bytes):
            return v.decode()
        return sorted(v) if isinstance(v, (set, frozenset)) else repr(v)
    return json.loads(json.dumps(value, default=other))


class Hangs(BaseException):
    """The original takes longer than any template may."""


def hang(_signal, _frame):
    raise Hangs()


signal.signal(signal.SIGALRM, hang)


def verdict(text, given):
    answer = {}
    signal.alarm(10)
    try:
        tmpl = template.Template(template_format.parse(text), files=dict(FILES))
        tmpl.env = environment.Environment({'parameters': given})
        ctx = context.RequestContext(project_id='p', user_id='u', username='n', is_admin=True)
        s = stack.Stack(ctx, 's', tmpl, strict_validate=True)
        s.validate(validate_res_tmpl_only=True)
        answer['parameters'] = plain({
            name: api.format_validate_parameter(p) for name, p in s.parameters.params.items()
            if name not in s.parameters.PSEUDO_PARAMETERS})
        answer['requires'] = {name: sorted(set(r.t.required_resource_names()) & set(s.resources)) for name, r in s.resources.items()}
        answer['outputs'] = {}
        for name, output in s.outputs.items():
            try:
                answer['outputs'][name] = {'value': plain(output.get_value())}
            except Exception as e:
                answer['outputs'][name] = {'class': type(e).__name__}
    except BaseException as e:
        answer = {'class': type(e).__name__, 'message': str(e), 'known': isinstance(e, exception.HeatException)}
    finally:
        signal.alarm(0)
    return answer


# Resource types are another matter: here all are the type that takes anything.
# So are custom constraints, which ask a cloud, and snapshots, which few types have.
TYPE = re.compile(r'\b(OS|AWS)::(Neutron|Nova|EC2|Heat::RandomString)\b(::\w+)?')
CUSTOM = re.compile(r'custom_constraint: [\w.]+')


PUBLIC = re.compile(r"""(\b[Tt]ype["']?\s*:\s*["']?)(?:[\w:./-]+\.(?:yaml|template|yml)|\w+(?:::\w+)+)""")


def public(text):
    return CUSTOM.sub('length: {max: 255}', PUBLIC.sub(r'\1OS::Heat::None', text))


SOME = {'number': 1, 'comma_delimited_list': 'a,b', 'json': {'a': 1}, 'boolean': True}


def some(schema):
    """A value that the constraints of a parameter allow, as far as that is easily told."""
    kind = str(schema.get('type', schema.get('Type', 'string'))).lower()
    given = SOME.get(kind, 'some')
    if kind == 'commadelimitedlist':
        given = 'a,b'
    constraints = schema.get('constraints') or []
    for c in constraints if isinstance(constraints, list) else []:
        if 'allowed_values' in c:
            return c['allowed_values'][0]
        bounds = c.get('range') or c.get('length') or {}
        least = bounds.get('min', 0)
        if 'range' in c:
            given = max(least, 1) if 'max' not in bounds else bounds['max']
        elif 'length' in c:
            given = 'x' * max(int(least), 1)
    allowed = schema.get('AllowedValues')
    return allowed[0] if allowed else given


def values(text):
    """What is given for the parameters of a public template."""
    try:
        parameters = template_format.parse(text)
        parameters = parameters.get('parameters') or parameters.get('Parameters') or {}
        return {name: some(schema) for name, schema in parameters.items() if not {'default', 'Default'} & set(schema)}
    except Exception:
        return {}


def alone(text):
    text = CUSTOM.sub('length: {max: 255}', TYPE.sub('OS::Heat::None', text))
    return text.replace('deletion_policy: snapshot', 'deletion_policy: retain')


def read(paths):
    for path in paths:
        with open(path, encoding='utf-8') as f:
            text = alone(f.read())
        if not path.endswith('.txt'):
            yield path.rsplit('/', 1)[-1], text
            continue
        for part in text.split('=== ')[1:]:
            name, _, body = part.partition('\n')
            if not body.startswith(('heat_', '{', 'Heat', 'AWS', '#')):
                body = 'heat_template_version: wallaby\n' + body
            yield name, body


SCRAPS = ['5', '[]', '{}', 'null', 'true', '-', ': ', 'x', "'", '{get_resource: net}', '{get_param: nope}', '{get_attr: [a]}',
          '{if: [x, 1]}', '&a', '*a', '!!int x', '|', '~', '#', '{equals: [1, 1]}', '9999999999999999999', '{Ref: x}', '1:2:3']


def mutant(rng, texts):
    lines = rng.choice(texts).splitlines(True)
    for _ in range(rng.choice([1, 1, 2])):
        if not lines:
            break
        at = rng.randrange(len(lines))
        kind = rng.randrange(7)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 2:
            del lines[at:]
        else:
            line = lines[at]
            begin = rng.randrange(len(line))
            lines[at] = line[:begin] + rng.choice(SCRAPS) + line[begin + rng.randrange(6):]
    return ''.join(lines)


def main():
    if sys.argv[2] == 'public':
        return anybody(sys.argv[3:])
    mutants, seed = int(sys.argv[1]), int(sys.argv[2])
    cases = list(read(sys.argv[3:]))
    rng = random.Random(seed)
    texts = [text for name, text in cases if text.count('\n') > 15 and name != 'yaql.yaml']
    cases += [('mutant %d' % i, mutant(rng, texts)) for i in range(mutants)]
    for name, text in cases:
        say(name, text, {'image': 'cirros'} if '  image:' in text else {})


def say(name, text, given):
    print(json.dumps({'name': name, 'text': text, 'given': given, 'verdict': verdict(text, given)}), file=sys.__stdout__, flush=True)


def anybody(paths):
    for path in paths:
        with open(path, encoding='utf-8') as f:
            text = public(f.read())
        say(path.rsplit('/', 1)[-1], text, values(text))


main()
